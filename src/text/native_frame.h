/*
** The lines of native stacks, each by itself.
*/
#ifndef SONDE_TEXT_NATIVE_FRAME_H
#define SONDE_TEXT_NATIVE_FRAME_H

#include "text/entry.h"
#include "text/scan.h"

struct native_thread {
  uint64_t id;
  struct scan name;
};

/* "TID 812:" or "Thread 2 (Thread 0x7f… (LWP 813) \"name\"):". */
int native_scan_thread(struct scan line, struct native_thread *thread);

/* What a frame's line says; what it does not say is empty. */
struct native_frame {
  struct scan name, args, file, module;
  uint64_t address, line;
  int has_address;
  int is_open;         /* of gdb, and not complete: the next line goes on */
};

/*
** "#0  0x… name - module" of eu-stack, or "#1  0x… in name (args) at
** file:line" of gdb, which may have been broken into lines.
*/
int native_scan_frame(struct scan line, struct native_frame *frame);

/* "/src/x.c:12:3" below a frame of eu-stack. */
int native_scan_source(struct scan line, struct native_frame *frame);

#endif
