/*
** The first process of the guest: mounts what probes need, runs the checks,
** and switches the machine off.
*/
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void mounted(const char *type, const char *at) {
  mkdir(at, 0755);
  if (mount(type, at, type, 0, NULL) != 0) perror(at);
}

int main(void) {
  mounted("proc", "/proc");
  mounted("sysfs", "/sys");
  mounted("devtmpfs", "/dev");
  mounted("tracefs", "/sys/kernel/tracing");
  mounted("tmpfs", "/tmp");
  pid_t pid = fork();
  if (pid == 0) {
    char *const words[] = {"lua5.4", "/sonde/spec/qemu/guest.lua", NULL};
    char *const environment[] = {
      "LUA_PATH=/sonde/lua/?.lua;/sonde/lua/?/init.lua;/share/?.lua;"
      "/sonde/?.lua", "LUA_CPATH=/sonde/c/?.so;/share/?.so", NULL
    };
    if (chdir("/sonde") != 0) perror("/sonde");
    execve("/bin/lua5.4", words, environment);
    perror("/bin/lua5.4");
    _exit(1);
  }
  while (wait(NULL) != pid) continue;
  puts("GUEST-END");
  fflush(stdout);
  sync();
  reboot(RB_POWER_OFF);
}
