/*
** What bindings share of an image, the userdata of a file with symbols.
*/
#ifndef SONDE_LUA_NATIVE_L_SYMBOLS_H
#define SONDE_LUA_NATIVE_L_SYMBOLS_H

#include "symbols/image.h"

#define SYMBOLS_IMAGE "sonde.image"

struct image_box {
  struct image *image;   /* NULL when closed */
};

#endif
