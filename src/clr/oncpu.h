/*
** True CPU time of samples. The sampler records every managed thread at each
** pass, waiting or not, so its samples tell where a thread was and nothing
** of whether it ran. A recorder that reads each thread's clock from the
** system leaves the readings in the trace; here each thread's samples are
** scaled, window by window, to what its clock says. The place within a thread
** stays the sampler's: it stops threads at safe points only.
*/
#ifndef SONDE_CLR_ONCPU_H
#define SONDE_CLR_ONCPU_H

#include "base/budget.h"
#include "clr/rows.h"

/* What a thread's clocks showed. */
struct cpu_reading {
  uint32_t actor;
  int64_t time_ns;
  int64_t run, wait;       /* ns on a processor, and ready for one */
};

struct cpu_readings {
  struct budget *budget;
  struct cpu_reading *rows;   uint32_t rows_cap, count;
};

void oncpu_init(struct cpu_readings *r, struct budget *budget);
void oncpu_free(struct cpu_readings *r);

struct builder;

/*
** Fills rows with nanoseconds on a processor, ready for one, and blocked.
** Stack 0 takes what threads used while the sampler did not see them. 0, or
** -1 when memory was refused.
*/
int oncpu_rows(struct builder *b, struct rows *out);

#endif
