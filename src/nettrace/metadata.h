/*
** What the two metadata decoders share: a growing field list. Decision: the
** tree of fields is one array in reading order, each place knowing how many
** places its subtree takes, so a payload decoder walks it without pointers.
*/
#ifndef SONDE_NETTRACE_METADATA_H
#define SONDE_NETTRACE_METADATA_H

#include "nettrace/payload.h"
#include "nettrace/reader.h"

/* Nesting of objects in field lists; deeper ones are dropped. */
#define NESTING_MAX 32

struct field_list {
  struct nt_reader *reader;
  struct nt_field *fields;
  uint32_t cap, count;
};

void fields_init(struct field_list *f, struct nt_reader *r);

/* Appends a field; its place, or UINT32_MAX when memory was refused. */
uint32_t fields_add(struct field_list *f, uint32_t name, int32_t type);

/* Closes a field whose nested ones were appended behind it. */
void fields_close(struct field_list *f, uint32_t place, uint32_t nested);

/*
** Adds a type with its fields (of which 'n_top' are top-level; 0 when they
** are not known) and asks the sink. The list is empty afterwards. 0 or -1.
*/
int metadata_define(struct nt_reader *r, const struct nt_type *model,
                    struct field_list *f, uint32_t n_top, uint64_t offset);

#endif
