#include "clr/decode.h"

const struct layout *decode_layout(const struct strtab *strings,
                                   const struct nt_type *type) {
  const char *provider = strtab_get(strings, type->provider, NULL);
  const char *name = strtab_get(strings, type->name, NULL);
  const struct layout *layout = layout_find(provider, name, type->id);
  if (layout == NULL || layout->by_name || type->n_fields == 0) return layout;
  return NULL;
}

const char *decode_name(const struct strtab *strings,
                        const struct nt_type *type,
                        const struct layout *layout) {
  if (type->name == 0 && layout != NULL) return layout->name;
  return strtab_get(strings, type->name, NULL);
}

int decode_described(const struct nt_type *type,
                     const struct layout *layout) {
  return type->n_fields > 0 || layout != NULL;
}

enum payload_status decode_payload(const struct strtab *strings,
                                   const struct nt_event *event,
                                   const struct layout *layout,
                                   unsigned pointer_size,
                                   const struct payload_visitor *visitor) {
  if (layout != NULL)
    return layout_decode(layout, event->payload, event->size, pointer_size,
                         visitor);
  enum payload_status status = payload_decode(
      strings, event->type, event->payload, event->size, visitor);
  /* What is behind the fields of these may be what their locations name. */
  return status == PAYLOAD_EXTRA ? PAYLOAD_OK : status;
}
