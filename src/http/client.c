#define _POSIX_C_SOURCE 200809L   /* clock_gettime */
#include "http/client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000

/* How often curl may want to be called at once before others have a turn. */
#define AT_ONCE 8

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *self,
                     void *mark) {
  struct http_client *c = self;
  struct epoll_event event = {.data.fd = fd};
  (void)easy;
  (void)mark;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
    return 0;
  }
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (epoll_ctl(c->epoll, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
  return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -1;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int on_timer(CURLM *multi, long ms, void *self) {
  struct http_client *c = self;
  (void)multi;
  c->due_ns = ms < 0 ? -1 : now_ns() + (int64_t)ms * NS_PER_MS;
  return 0;
}

long http_client_timeout(const struct http_client *c) {
  if (c->due_ns < 0) return -1;
  int64_t left = c->due_ns - now_ns();
  return left <= 0 ? 0 : (long)((left + NS_PER_MS - 1) / NS_PER_MS);
}

struct http_client *http_client_new(void) {
  struct http_client *c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  c->references = 1;
  c->due_ns = -1;
  c->epoll = epoll_create1(EPOLL_CLOEXEC);
  c->multi = curl_multi_init();
  if (c->epoll < 0 || c->multi == NULL) {
    http_client_release(c);
    return NULL;
  }
  curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
  curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
  return c;
}

void http_client_release(struct http_client *c) {
  if (c == NULL || --c->references > 0) return;
  if (c->multi != NULL) curl_multi_cleanup(c->multi);
  if (c->epoll >= 0) close(c->epoll);
  free(c);
}

/* Marks the transfers that curl has ended. */
static void collect(struct http_client *c) {
  CURLMsg *message;
  int left;
  while ((message = curl_multi_info_read(c->multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    CURLcode result = message->data.result;
    char *self = NULL;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
    struct http_transfer *t = (struct http_transfer *)(void *)self;
    if (t == NULL) continue;
    t->result = result;
    t->done = t->changed = 1;
  }
}

static int flags_of(uint32_t events) {
  int flags = 0;
  if (events & EPOLLIN) flags |= CURL_CSELECT_IN;
  if (events & EPOLLOUT) flags |= CURL_CSELECT_OUT;
  if (events & (EPOLLERR | EPOLLHUP)) flags |= CURL_CSELECT_ERR;
  return flags;
}

void http_client_act(struct http_client *c) {
  struct epoll_event events[32];
  int running, n = epoll_wait(c->epoll, events, 32, 0);
  for (int i = 0; i < n; i++)
    curl_multi_socket_action(c->multi, events[i].data.fd,
                             flags_of(events[i].events), &running);
  for (int i = 0; i < AT_ONCE && http_client_timeout(c) == 0; i++) {
    c->due_ns = -1;   /* curl sets it anew, or wants no more */
    curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  collect(c);
}
