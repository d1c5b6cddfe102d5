/*
** Names as a C# programmer wrote them. Two notations come in: reflection's
** in class names ("Outer`1+Inner[System.Int32]") and the runtime's in
** signatures ("class Outer`1<int32>&"). Decision: whatever does not parse is
** copied as it is, so a name is never lost.
*/
#include "clr/names.h"

#define PARTS_MAX 12
#define ARGS_MAX 24
#define DEPTH_MAX 12

/* A type name taken apart: nested classes, type arguments, "[]&*". */
struct type_name {
  struct span parts[PARTS_MAX];
  unsigned arity[PARTS_MAX];
  unsigned n_parts;
  struct span args[ARGS_MAX];
  unsigned n_args;
  struct span suffix;
};

/* What a "!0" in a signature stands for: arguments of the class. */
struct context {
  const struct type_name *owner;
  unsigned depth;
};

#define PRIMITIVE(runtime, csharp) {runtime, sizeof runtime - 1, csharp}

static const struct {
  const char *runtime;
  size_t len;
  const char *csharp;
} PRIMITIVES[] = {
  PRIMITIVE("int8", "sbyte"),
  PRIMITIVE("unsigned int8", "byte"),
  PRIMITIVE("int16", "short"),
  PRIMITIVE("unsigned int16", "ushort"),
  PRIMITIVE("int32", "int"),
  PRIMITIVE("unsigned int32", "uint"),
  PRIMITIVE("int64", "long"),
  PRIMITIVE("unsigned int64", "ulong"),
  PRIMITIVE("int", "nint"),
  PRIMITIVE("unsigned int", "nuint"),
  PRIMITIVE("native int", "nint"),
  PRIMITIVE("native unsigned int", "nuint"),
  PRIMITIVE("float32", "float"),
  PRIMITIVE("float64", "double"),
  PRIMITIVE("wchar", "char"),
  PRIMITIVE("System.SByte", "sbyte"),
  PRIMITIVE("System.Byte", "byte"),
  PRIMITIVE("System.Int16", "short"),
  PRIMITIVE("System.UInt16", "ushort"),
  PRIMITIVE("System.Int32", "int"),
  PRIMITIVE("System.UInt32", "uint"),
  PRIMITIVE("System.Int64", "long"),
  PRIMITIVE("System.UInt64", "ulong"),
  PRIMITIVE("System.IntPtr", "nint"),
  PRIMITIVE("System.UIntPtr", "nuint"),
  PRIMITIVE("System.Single", "float"),
  PRIMITIVE("System.Double", "double"),
  PRIMITIVE("System.Decimal", "decimal"),
  PRIMITIVE("System.Char", "char"),
  PRIMITIVE("System.Boolean", "bool"),
  PRIMITIVE("System.String", "string"),
  PRIMITIVE("System.Object", "object"),
  PRIMITIVE("System.Void", "void"),
  PRIMITIVE("System.__Canon", "__Canon"),
};

static void put(struct buffer *out, struct span s) {
  buf_put(out, s.text, s.len);
}

static struct span cut(struct span s, size_t from, size_t to) {
  struct span part = {s.text + from, to - from};
  return part;
}

static struct span after(struct span s, size_t n) { return cut(s, n, s.len); }

/* Index behind the bracket that closes the one at 'open'; 0 when none. */
static size_t closing(struct span s, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < s.len; i++) {
    char c = s.text[i];
    if (c == '<' || c == '[' || c == '(') depth++;
    else if (c == '>' || c == ']' || c == ')') {
      if (--depth == 0) return i + 1;
    }
  }
  return 0;
}

/* Index of a character outside of all brackets; s.len when there is none. */
static size_t find_flat(struct span s, size_t from, char what) {
  for (size_t i = from; i < s.len; i++) {
    char c = s.text[i];
    if (c == what) return i;
    if (c == '<' || c == '[' || c == '(') {
      size_t end = closing(s, i);
      if (end == 0) return s.len;
      i = end - 1;
    }
  }
  return s.len;
}

static struct span without_keywords(struct span s) {
  static const char *const words[] = {"class ", "value class ", "valuetype "};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (span_starts(s, words[i])) s = after(s, strlen(words[i]));
  }
  size_t end;
  if (s.len > 0 && s.text[0] == '[' && (end = closing(s, 0)) > 0
      && end < s.len)
    s = after(s, end);   /* "[Assembly]Type" */
  return s;
}

/* The end of one nested class's name: '<' at its start belongs to it. */
static size_t part_end(struct span s, size_t from) {
  for (size_t i = from; i < s.len; i++) {
    char c = s.text[i];
    if (c == '<' && (i == from || s.text[i - 1] == '.')) {
      size_t end = closing(s, i);
      if (end == 0) return s.len;
      i = end - 1;
      continue;
    }
    if (c == '+' || c == '<' || c == '[' || c == '&' || c == '*') return i;
  }
  return s.len;
}

static unsigned take_arity(struct span *part) {
  size_t tick = part->len;
  while (tick > 0 && part->text[tick - 1] >= '0' && part->text[tick - 1] <= '9')
    tick--;
  if (tick == 0 || tick == part->len || part->text[tick - 1] != '`') return 0;
  unsigned arity = 0;
  for (size_t i = tick; i < part->len && arity < 1000; i++)
    arity = arity * 10 + (unsigned)(part->text[i] - '0');
  part->len = tick - 1;
  return arity;
}

/* The content of "<...>" or "[...]", by commas. */
static int split_args(struct type_name *t, struct span list) {
  for (size_t at = 0; at < list.len; at++) {
    size_t comma = find_flat(list, at, ',');
    if (t->n_args == ARGS_MAX) return 0;
    t->args[t->n_args++] = cut(list, at, comma);
    at = comma;
  }
  return 1;
}

static int is_array(struct span s) {
  size_t i = 1;
  while (i < s.len && (s.text[i] == ',' || s.text[i] == '*')) i++;
  return s.len > 1 && s.text[0] == '[' && i < s.len && s.text[i] == ']';
}

static int parse_type(struct span s, struct type_name *t) {
  memset(t, 0, sizeof *t);
  size_t at = 0;
  for (;;) {
    size_t end = part_end(s, at);
    if (t->n_parts == PARTS_MAX) return 0;
    struct span part = cut(s, at, end);
    t->arity[t->n_parts] = take_arity(&part);
    t->parts[t->n_parts++] = part;
    at = end;
    if (at >= s.len || s.text[at] != '+') break;
    at++;
  }
  struct span rest = after(s, at);
  if (rest.len > 0 && (rest.text[0] == '<' || rest.text[0] == '[')
      && !is_array(rest)) {
    size_t end = closing(rest, 0);
    if (end == 0 || !split_args(t, cut(rest, 1, end - 1))) return 0;
    rest = after(rest, end);
  }
  t->suffix = rest;
  return 1;
}

static void put_type(struct buffer *out, struct span s, struct context c);

static void put_args(struct buffer *out, const struct type_name *t,
                     unsigned from, unsigned n, struct context c) {
  if (n == 0) return;
  buf_u8(out, '<');
  for (unsigned i = from; i < from + n; i++) {
    if (i > from) buf_str(out, ", ");
    put_type(out, t->args[i], c);
  }
  buf_u8(out, '>');
}

/*
** A name that the compiler made: "<Main>b__0_1" and the like. 'machine' is
** set when it stands for an async method or an iterator.
*/
static void put_generated(struct buffer *out, struct span s, unsigned depth,
                          int *machine) {
  size_t end = s.len > 0 && s.text[0] == '<' ? closing(s, 0) : 0;
  if (end < 3 || depth > DEPTH_MAX) {
    put(out, s);
    return;
  }
  struct span inner = cut(s, 1, end - 1);
  struct span kind = after(s, end);
  if (span_starts(kind, "b__")) {
    put_generated(out, inner, depth + 1, machine);
    buf_str(out, " lambda");
  }
  else if (span_starts(kind, "g__")) {
    struct span local = after(kind, 3);
    put_generated(out, inner, depth + 1, machine);
    buf_u8(out, '.');
    put(out, cut(local, 0, find_flat(local, 0, '|')));
  }
  else if (span_is(kind, "d") || span_starts(kind, "d__")) {
    put_generated(out, inner, depth + 1, machine);
    *machine = 1;
  }
  else put(out, s);
}

static int is_closure(struct span part) {
  return span_is(part, "<>c") || span_starts(part, "<>c__DisplayClass");
}

/* The name without its namespace, when a short one is wanted. */
static struct span last_name(struct span part) {
  size_t start = 0;
  for (size_t i = 0; i < part.len && part.text[i] != '<'; i++)
    if (part.text[i] == '.') start = i + 1;
  return after(part, start);
}

static const char *primitive(struct span s) {
  for (size_t i = 0; i < sizeof PRIMITIVES / sizeof *PRIMITIVES; i++) {
    if (PRIMITIVES[i].len == s.len
        && memcmp(PRIMITIVES[i].runtime, s.text, s.len) == 0)
      return PRIMITIVES[i].csharp;
  }
  return NULL;
}

/*
** The classes from the outermost in; closures are left out. Returns whether
** the innermost is the machine of an async method or iterator.
*/
static int put_parts(struct buffer *out, const struct type_name *t,
                     int with_namespace, struct context c) {
  unsigned used = 0;
  int machine = 0;
  for (unsigned i = 0; i < t->n_parts; i++) {
    unsigned n = t->arity[i];
    if (i + 1 == t->n_parts || n > t->n_args - used) n = t->n_args - used;
    used += n;
    if (is_closure(t->parts[i])) continue;
    if (i > 0) buf_u8(out, '.');
    struct span part = t->parts[i];
    machine = 0;
    if (part.len > 0 && part.text[0] == '<')
      put_generated(out, part, 0, &machine);
    else put(out, with_namespace || i > 0 ? part : last_name(part));
    if (!machine) put_args(out, t, used - n, n, c);
  }
  return machine;
}

/* "!0" by the class's own arguments; "!!0" cannot be known. */
static int put_variable(struct buffer *out, struct span s,
                        struct context c) {
  size_t bangs = span_starts(s, "!!") ? 2 : span_starts(s, "!") ? 1 : 0;
  if (bangs == 0) return 0;
  unsigned n = 0;
  size_t i = bangs;
  for (; i < s.len && s.text[i] >= '0' && s.text[i] <= '9' && n < 1000; i++)
    n = n * 10 + (unsigned)(s.text[i] - '0');
  if (i == bangs) return 0;
  struct context inner = {NULL, c.depth + 1};
  if (bangs == 1 && c.owner != NULL && n < c.owner->n_args)
    put_type(out, c.owner->args[n], inner);
  else buf_printf(out, "T%u", n);
  put(out, after(s, i));
  return 1;
}

static void put_type_plain(struct buffer *out, struct span s,
                           struct context c) {
  const char *known = primitive(s);
  struct type_name t;
  if (known != NULL) buf_str(out, known);
  else if (put_variable(out, s, c)) return;
  else if (c.depth > DEPTH_MAX || s.len == 0 || s.text[0] == '('
           || !parse_type(s, &t))
    put(out, s);
  else if (t.n_parts == 1 && t.n_args == 0 && primitive(t.parts[0]) != NULL) {
    buf_str(out, primitive(t.parts[0]));
    put(out, t.suffix);
  }
  else if (t.n_parts == 1 && t.n_args == 1
           && span_is(t.parts[0], "System.Nullable")) {
    c.depth++;
    put_type(out, t.args[0], c);
    buf_u8(out, '?');
    put(out, t.suffix);
  }
  else {
    c.depth++;
    put_parts(out, &t, 0, c);
    put(out, t.suffix);
  }
}

/* A type in short form; a trailing "&" becomes "ref ". */
static void put_type(struct buffer *out, struct span s, struct context c) {
  while (s.len > 0 && s.text[0] == ' ') s = after(s, 1);
  s = without_keywords(s);
  if (s.len > 1 && s.text[s.len - 1] == '&') {
    buf_str(out, "ref ");
    s.len--;
  }
  put_type_plain(out, s, c);
}

static void put_arguments(struct buffer *out, struct span signature,
                          const struct type_name *owner) {
  const char *open = signature.len == 0
                         ? NULL
                         : memchr(signature.text, '(', signature.len);
  if (open == NULL) return;
  struct span list = after(signature, (size_t)(open - signature.text));
  size_t end = closing(list, 0);
  if (end == 0) {
    put(out, list);
    return;
  }
  list = cut(list, 1, end - 1);
  struct context c = {owner, 0};
  buf_u8(out, '(');
  for (size_t at = 0; at < list.len; at++) {
    size_t comma = find_flat(list, at, ',');
    if (at > 0) buf_str(out, ", ");
    put_type(out, cut(list, at, comma), c);
    at = comma;
  }
  buf_u8(out, ')');
}

static void put_method_name(struct buffer *out,
                            const struct method_name *n, int machine) {
  int is_iterator = span_starts(n->signature, "instance bool");
  if (machine && span_is(n->name, "MoveNext")) {
    buf_str(out, is_iterator ? " (iterator)" : " (async)");
    return;
  }
  int unused = 0;
  if (n->space.len > 0) buf_u8(out, '.');
  put_generated(out, n->name, 0, &unused);
}

void pretty_method(struct buffer *out, const struct method_name *n) {
  struct type_name owner;
  int known = parse_type(n->space, &owner);
  struct context c = {NULL, 0};
  int machine = 0;
  if (known) machine = put_parts(out, &owner, 1, c);
  else put(out, n->space);
  if (known) put(out, owner.suffix);
  put_method_name(out, n, machine);
  if (!machine || !span_is(n->name, "MoveNext"))
    put_arguments(out, n->signature, known ? &owner : NULL);
}
