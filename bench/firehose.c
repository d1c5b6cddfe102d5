/*
** A runtime that is none: sends a trace to whoever starts a session, as fast
** as it is taken. In C, so that the bench measures who reads.
**
**    firehose SOCKET TRACE
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD 20               /* magic, size, set, command, reserved */
#define SET_EVENTPIPE 2
#define STOP 1

struct trace {
  const uint8_t *bytes;
  size_t size;
};

static void die(const char *what) {
  perror(what);
  exit(1);
}

static struct trace map_trace(const char *path) {
  struct stat info;
  int fd = open(path, O_RDONLY);
  if (fd < 0 || fstat(fd, &info) < 0) die(path);
  size_t size = (size_t)info.st_size;
  void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) die(path);
  close(fd);
  return (struct trace){bytes, size};
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    fprintf(stderr, "%s: too long for a socket\n", path);
    exit(1);
  }
  memcpy(address.sun_path, path, strlen(path));
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (void *)&address, sizeof address) < 0) die(path);
  if (listen(fd, 16) < 0) die(path);
  return fd;
}

static int send_all(int fd, const void *data, size_t size) {
  const uint8_t *bytes = data;
  while (size > 0) {
    ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
    if (n < 0) return -1;
    bytes += n;
    size -= (size_t)n;
  }
  return 0;
}

/* The whole of a request has to come: a client that is cut off gets nothing. */
static int read_request(int fd, uint8_t *request, size_t room) {
  size_t have = 0, wanted = HEAD;
  while (have < wanted) {
    ssize_t n = recv(fd, request + have, room - have, 0);
    if (n <= 0) return -1;
    have += (size_t)n;
    if (have >= HEAD) wanted = (size_t)(request[14] | request[15] << 8);
    if (wanted > room) return -1;
  }
  return 0;
}

/* OK with a session's number, or the error for a command that is unknown. */
static int reply(int fd, int known) {
  uint8_t ok[HEAD + 8] = "DOTNET_IPC_V1", unknown[HEAD + 4] = "DOTNET_IPC_V1";
  ok[14] = sizeof ok;
  ok[16] = 0xff;
  ok[HEAD] = 1;
  unknown[14] = sizeof unknown;
  unknown[16] = unknown[17] = 0xff;
  memcpy(unknown + HEAD, "\x85\x13\x13\x80", 4);
  return known ? send_all(fd, ok, sizeof ok)
               : send_all(fd, unknown, sizeof unknown);
}

static void serve(int fd, const struct trace *trace) {
  static uint8_t request[UINT16_MAX];
  if (read_request(fd, request, sizeof request) < 0) return;
  int known = request[16] == SET_EVENTPIPE;
  if (reply(fd, known) < 0 || !known || request[17] == STOP) return;
  send_all(fd, trace->bytes, trace->size);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fputs("usage: firehose SOCKET TRACE\n", stderr);
    return 2;
  }
  struct trace trace = map_trace(argv[2]);
  int listener = listen_at(argv[1]);
  signal(SIGCHLD, SIG_IGN);   /* children are not waited for */
  puts("ready");
  fflush(stdout);
  for (;;) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) die("accept");
    pid_t child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
      close(listener);
      serve(fd, &trace);
      _exit(0);
    }
    close(fd);
  }
}
