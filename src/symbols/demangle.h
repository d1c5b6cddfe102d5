/*
** Names of C++ and Rust as their programmers wrote them, by libiberty.
** Decision: without parameters and return types, as pprof shows them, since
** a flame graph has no room for these; the linker's name is kept beside it.
*/
#ifndef SONDE_SYMBOLS_DEMANGLE_H
#define SONDE_SYMBOLS_DEMANGLE_H

/* The readable name, to be freed; NULL when the name is no mangled one. */
char *demangle_name(const char *name);

/* The same with parameters, for patterns that name an overload. */
char *demangle_full(const char *name);

#endif
