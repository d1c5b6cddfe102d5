/*
** A program or library as a source of names: its own tables, those of its
** debug file, Go's table, unwinding rules, DWARF. Each is read when it is
** first needed. Addresses are the file's own (what readelf shows).
*/
#ifndef SONDE_SYMBOLS_IMAGE_H
#define SONDE_SYMBOLS_IMAGE_H

#include "elf/cfi.h"
#include "elf/elf.h"
#include "elf/gotable.h"
#include "elf/symtab.h"
#include "symbols/mapfile.h"

struct dwarf;
struct minidebug;

enum image_state { IMAGE_UNREAD = 0, IMAGE_READ, IMAGE_NONE };

struct image {
  struct budget budget;
  char *path;
  struct mapfile file, debug_file;
  struct elf elf, debug;             /* 'debug' when debug_file is open */
  uint8_t has_debug, symbols_state, cfi_state, go_state, dwarf_state;
  struct symtab symbols;
  struct cfi cfi;
  struct gotable go;
  struct dwarf *dwarf;
  struct minidebug *mini;
};

/* One call at an address; texts are the image's, ended by zero, or NULL. */
struct image_frame {
  const char *name;          /* as people wrote it, when it is known as such */
  const char *linkage_name;  /* as the linker knows it */
  const char *file;
  int64_t line, column, start_line;
};

/* How a function's name is known. */
enum image_source {
  IMAGE_NOTHING, IMAGE_SYMBOL, IMAGE_GO_TABLE, IMAGE_UNWIND_TABLE
};

struct image_function {
  enum image_source source;
  const char *name;          /* NULL when only the start is known */
  uint64_t start;
};

/* NULL with '*why' when the file cannot be used; 'error' is an errno or 0. */
struct image *image_open(const char *path, const char **why, int *error);

/* The same of bytes in memory, which are copied: the kernel's vdso. */
struct image *image_of_bytes(const void *bytes, size_t size);
void image_close(struct image *m);

/* The function that covers an address. */
struct image_function image_function(struct image *m, uint64_t address);

/*
** The calls at an address, innermost first: with files, lines and inlined
** ones where that is known, else the function alone. How many; 0 when the
** function's name is not known.
*/
unsigned image_frames(struct image *m, uint64_t address,
                      struct image_frame *frames, unsigned most);

/* The sorted table of all functions with names. */
const struct symtab *image_symbols(struct image *m);

/* The unwinding rules; never NULL. */
const struct cfi *image_cfi(struct image *m);

/* Go's table of functions; NULL when there is none. */
const struct gotable *image_go(struct image *m);

/* Was it made by Go? */
int image_is_go(struct image *m);

#endif
