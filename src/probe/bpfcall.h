/*
** bpf(2), a function for each command that we use. Functions return a
** descriptor or 0, or a negative errno.
*/
#ifndef SONDE_PROBE_BPFCALL_H
#define SONDE_PROBE_BPFCALL_H

#include <stddef.h>
#include <stdint.h>

#include "probe/code.h"

int bpfcall_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries,
                uint32_t flags);
int bpfcall_lookup(int map, const void *key, void *value);
int bpfcall_update(int map, const void *key, const void *value);

/* 'key' NULL: the first one. -ENOENT after the last. */
int bpfcall_next_key(int map, const void *key, void *next);

/*
** Some elements of a hash map at once: '*n' says how many have room, and then
** how many there were. 'at' is NULL at first, and '*next' goes on from there.
** -ENOENT with the last ones; -EINVAL before Linux 5.6.
*/
int bpfcall_lookup_some(int map, const uint32_t *at, uint32_t *next,
                        void *keys, void *values, uint32_t *n);

/*
** Loads a program. 'log' gets the verifier's words when the kernel refuses
** it; it may be NULL.
*/
int bpfcall_load(uint32_t type, uint32_t attach_type, const struct code *c,
                 char *log, size_t log_size);

/* Runs of a program that the kernel left out since it ran already there. */
uint64_t bpfcall_missed(int program);

void bpfcall_close(int fd);

/* LINK_CREATE with an attribute of any size. */
int bpfcall_link(const void *attribute, size_t size);

#endif
