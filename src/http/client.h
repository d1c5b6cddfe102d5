/*
** HTTP requests over libcurl's multi interface. Decision: curl's sockets are
** gathered behind one epoll descriptor, so whoever drives the client watches
** one descriptor and one time, whatever runs in it. Nothing here blocks or
** calls back: a transfer collects what came until it is taken, and the peer
** waits when nobody takes it.
*/
#ifndef SONDE_HTTP_CLIENT_H
#define SONDE_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#include "base/buffer.h"

struct http_transfer;

struct http_client {
  CURLM *multi;
  int epoll;             /* -1 while there is none */
  int64_t due_ns;        /* when curl wants to be called; -1: no more */
  unsigned references;   /* the owner and each transfer */
  struct http_transfer *first;
};

/* What ended a transfer that we ended ourselves. */
enum http_stop { HTTP_RUNS_ON, HTTP_TOO_LARGE, HTTP_HEAD_TOO_LARGE,
                 HTTP_NO_MEMORY };

struct http_transfer {
  struct http_client *client;
  struct http_transfer *next;
  CURL *easy;
  struct curl_slist *headers;
  uint64_t id;
  struct budget budget;
  struct buffer head;    /* status line and header fields of the last answer */
  struct buffer body;    /* what came and was not taken */
  uint64_t received;     /* bytes of the body, unpacked */
  uint64_t most;
  int directory;         /* that a long socket path goes through; or -1 */
  int paused, changed, done;
  enum http_stop stop;
  CURLcode result;
  char error[CURL_ERROR_SIZE];
};

/* Texts are copied, except 'body', which must stay until the end. */
struct http_request {
  const char *url, *method;
  const char *unix_socket;       /* NULL: none */
  const char *user, *password;   /* NULL: none */
  const char *authorities;       /* file of certificates; NULL: the system's */
  const void *body;              /* NULL: none */
  size_t body_len;
  uint64_t most;                 /* bytes of the answer's body */
  long connect_ms;
  int insecure, reuse, direct;   /* direct: by no proxy */
};

/* A client with one reference, or NULL. */
struct http_client *http_client_new(void);
void http_client_release(struct http_client *c);

/* Does what is to be done now. */
void http_client_act(struct http_client *c);

/* Milliseconds until it must be called in any case, or -1. */
long http_client_timeout(const struct http_client *c);

/*
** Begins a request. 'headers' is the transfer's from then on. NULL, and why in
** '*why', when curl refuses it.
*/
struct http_transfer *http_begin(struct http_client *c,
                                 const struct http_request *request,
                                 struct curl_slist *headers,
                                 const char **why);
void http_free(struct http_transfer *t);

/* Lets the peer go on when it waits for us. */
void http_resume(struct http_transfer *t);

#endif
