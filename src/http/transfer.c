#define _GNU_SOURCE   /* O_PATH, SOCK_CLOEXEC */
#include "http/client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* What may wait to be taken before the peer has to; and the most of a head. */
#define WINDOW ((size_t)256 << 10)
#define LARGEST_HEAD ((size_t)64 << 10)

/* Remembers why we end a transfer; a callback that takes nothing ends it. */
static size_t stop(struct http_transfer *t, enum http_stop why) {
  t->stop = why;
  return 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *self) {
  struct http_transfer *t = self;
  size_t n = size * count;
  if (n == 0) return n;
  if (t->body.len > 0 && t->body.len + n > WINDOW) {
    t->paused = 1;
    return CURL_WRITEFUNC_PAUSE;
  }
  size_t kept = n > t->most - t->received ? (size_t)(t->most - t->received) : n;
  buf_put(&t->body, data, kept);
  if (t->body.failed) return stop(t, HTTP_NO_MEMORY);
  t->received += kept;
  t->changed = 1;
  return kept == n ? n : stop(t, HTTP_TOO_LARGE);
}

/* Of several answers, after "100 Continue" for example, the last counts. */
static size_t on_header(char *data, size_t size, size_t count, void *self) {
  struct http_transfer *t = self;
  size_t n = size * count;
  if (n >= 5 && memcmp(data, "HTTP/", 5) == 0) buf_clear(&t->head);
  if (t->head.len + n > LARGEST_HEAD) return stop(t, HTTP_HEAD_TOO_LARGE);
  buf_put(&t->head, data, n);
  return t->head.failed ? stop(t, HTTP_NO_MEMORY) : n;
}

/* Programs that we start must not inherit our connections. */
static curl_socket_t open_socket(void *self, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
  (void)self;
  (void)purpose;
  return socket(address->family, address->socktype | SOCK_CLOEXEC,
                address->protocol);
}

/*
** A path that is too long for an address of a socket is reached through a
** descriptor of its directory, which stays open as long as the transfer.
*/
static int set_socket_path(struct http_transfer *t, const char *path) {
  struct sockaddr_un address;
  char through[sizeof address.sun_path];
  const char *slash = strrchr(path, '/');
  if (strlen(path) < sizeof address.sun_path || slash == NULL || slash == path)
    return curl_easy_setopt(t->easy, CURLOPT_UNIX_SOCKET_PATH, path);
  char *parent = strndup(path, (size_t)(slash - path));
  if (parent == NULL) return -1;
  t->directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
  free(parent);
  if (t->directory < 0) return -1;
  int n = snprintf(through, sizeof through, "/proc/self/fd/%d/%s",
                   t->directory, slash + 1);
  if (n >= (int)sizeof through) return -1;
  return curl_easy_setopt(t->easy, CURLOPT_UNIX_SOCKET_PATH, through);
}

static void set_protocols(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
                   (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  /* Giving up must not wait for a name server. */
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

static void set_security(CURL *easy, const struct http_request *request) {
  if (request->insecure) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (request->authorities != NULL)
    curl_easy_setopt(easy, CURLOPT_CAINFO, request->authorities);
  if (request->user != NULL)
    curl_easy_setopt(easy, CURLOPT_USERNAME, request->user);
  if (request->password != NULL)
    curl_easy_setopt(easy, CURLOPT_PASSWORD, request->password);
  if (request->direct) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
}

static void set_body(CURL *easy, const struct http_request *request) {
  if (request->body != NULL) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)request->body_len);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
  }
  if (strcmp(request->method, "HEAD") == 0)
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  else
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_callbacks(struct http_transfer *t) {
  CURL *easy = t->easy;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)t);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
}

static int set_up(struct http_transfer *t, const struct http_request *request) {
  CURL *easy = t->easy;
  set_callbacks(t);
  set_protocols(easy);
  set_security(easy, request);
  set_body(easy, request);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, request->connect_ms);
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->reuse ? 0L : 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
  if (request->unix_socket != NULL
      && set_socket_path(t, request->unix_socket) != 0)
    return -1;
  return curl_easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK ? 0 : -1;
}

static struct http_transfer *new_transfer(struct http_client *c) {
  struct http_transfer *t = calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  t->easy = curl_easy_init();
  if (t->easy == NULL) {
    free(t);
    return NULL;
  }
  budget_init(&t->budget, 0);
  buf_init(&t->head, &t->budget);
  buf_init(&t->body, &t->budget);
  t->directory = -1;
  t->client = c;
  t->next = c->first;
  c->first = t;
  c->references++;
  return t;
}

struct http_transfer *http_begin(struct http_client *c,
                                 const struct http_request *request,
                                 struct curl_slist *headers,
                                 const char **why) {
  static uint64_t ids = 0;
  struct http_transfer *t = new_transfer(c);
  *why = "not enough memory";
  if (t == NULL) {
    curl_slist_free_all(headers);
    return NULL;
  }
  t->id = ++ids;
  t->headers = headers;
  t->most = request->most;
  if (set_up(t, request) != 0) *why = "curl refuses the request";
  else if (curl_multi_add_handle(c->multi, t->easy) == CURLM_OK) return t;
  http_free(t);
  return NULL;
}

void http_free(struct http_transfer *t) {
  struct http_client *c = t->client;
  struct http_transfer **at = &c->first;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  curl_multi_remove_handle(c->multi, t->easy);
  curl_easy_cleanup(t->easy);
  curl_slist_free_all(t->headers);
  buf_free(&t->head);
  buf_free(&t->body);
  if (t->directory >= 0) close(t->directory);
  free(t);
  http_client_release(c);
}

void http_resume(struct http_transfer *t) {
  if (!t->paused || t->done) return;
  t->paused = 0;
  curl_easy_pause(t->easy, CURLPAUSE_CONT);
}
