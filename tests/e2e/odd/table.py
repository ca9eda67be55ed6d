# SPDX-License-Identifier: MIT
"""table.py - the odd programs, a row each: what is odd, how it is run, and what is expected of a record.

A row runs bare, under `gputrack run` and under `gputrack attach`, with each of its doors, and has to
print the same, end the same way and leave the same files each time (test_odd.py). Its fields:

  mode    the mode of odd_API, with its arguments; {lib:NAME} is a library that the build has made,
          {system:NAME} one of the machine
  long    the mode in its long form (GPUTRACK_TEST_LONG=1)
  before  the words that the program is started with, such as env or prlimit
  env     variables of its environment
  doors   the APIs it is tried with; by default all
  calls   which calls are recorded. "all"; "counted": those that were not are counted as lost; "most": a call
          that does not return may be missing; "parent": those of children are missing; "none". attach
          has all of them, or "most"
  says    the line that the recorder may print on stderr
  kernel  the first Linux on which it is run under attach
  tracker why it is not run with the resource tracker, which Level Zero's programs are (--csv, --log)
  held    another test does the same: its name stands there instead of a program
"""
import collections

DOORS = ("opencl", "levelzero", "cuda")
Row = collections.namedtuple("Row", "name odd mode long before env doors calls says kernel tracker held")
UNTRACKED = r"gputrack: (cannot|the tracker's) .*; the program runs on.*\n"


def row(name, odd, mode=None, long=None, before=(), env=None, doors=DOORS, calls="all", says=None, kernel=None,
        tracker=None, held=None):
    mode = (mode or name).split()
    return Row(name, odd, mode, long.split() if long else mode, before, env or {}, doors, calls, says, kernel,
               tracker, held)


ROWS = (
    # Stacks.
    row("signal-stack", "calls in a handler on a stack of SIGSTKSZ bytes"),
    row("smallest-thread", "calls in a thread with the smallest stack there is"),
    row("coroutine", "calls on 8 KiB of the heap, with data of the program below"),
    row("fork-on-small-stack", "a fork on such a stack; the child makes calls there"),
    row("contexts", "makecontext and swapcontext between calls"),
    row("deep", "calls 10,000 frames deep"),
    row("generated-code", "calls from code without unwind tables, which is then unmapped"),
    row("little-stack", "ulimit -s 128, and 128 KiB in the program", "small-stack",
        before=("prlimit", "--stack=256000")),
    # Jumps and exceptions.
    row("jump-out-of-call", "the driver crashes, and the program leaves the call by siglongjmp", calls="most"),
    row("jump-out-of-handler", "siglongjmp out of a handler that made calls"),
    row("jump-out-of-callback", "longjmp out of a callback of the driver", doors=("opencl",), calls="most"),
    row("exceptions", "C++ exceptions whose destructors make calls; thread_local objects"),
    row("exception-through-callback", "C++ exceptions through the driver", doors=("opencl",), calls="most",
        kernel=(6, 13)),
    row("stack-overflow", "a handler on another stack leaves an overflown one by siglongjmp"),
    row("own-bus-error", "a SIGBUS handler for the program's own file"),
    row("page-on-demand", "a SIGSEGV handler that gives the page, with calls in it"),
    # Threads.
    row("threads-in-sequence", "10,000 threads, one after another", "threads-in-sequence 300",
        long="threads-in-sequence 10000"),
    row("threads-at-once", "1,000 threads at the same time", "threads-at-once 100", long="threads-at-once 1000"),
    row("cancelled", "pthread_cancel while calls are made"),
    row("main-thread-exits", "pthread_exit in main; the last thread makes calls"),
    row("key-destructors", "thread-specific values whose destructors make calls"),
    row("outlived", "main returns while other threads are in the middle of their work"),
    row("forks-in-threads", "fork in a thread; the child starts threads"),
    row("exit-in-thread", "exit() in another thread than the first"),
    # Beginnings and ends.
    row("around-main", "calls in constructors, destructors and atexit"),
    row("exit", "exit() with handlers that make calls"),
    row("_exit", "_exit()"),
    row("quick-exit", "quick_exit() with handlers that make calls"),
    row("abort", "abort() with a handler that makes calls"),
    row("crash", "dies of SIGSEGV"),
    row("crash-in-call", "dies of SIGSEGV in the driver", calls="most"),
    row("terminated", "dies of SIGTERM"),
    row("killed", "dies of SIGKILL"),
    row("exit-in-handler", "exit() in a signal handler"),
    # Signals.
    row("profiled", "a profiler's timer, 1,000 signals a second"),
    row("interrupted", "a read that SIGALRM interrupts"),
    row("restarted", "a read that SA_RESTART restarts"),
    row("signal-descriptor", "signalfd, blocked signals"),
    row("queued-signals", "queued real-time signals with everything blocked"),
    row("inherited-signals", "signals ignored and blocked by the parent", "nothing-odd",
        before=("env", "--ignore-signal=INT,PIPE,CHLD", "--block-signal=USR1,ALRM")),
    row("children-ignored", "SIGCHLD ignored"),
    row("broken-pipe", "SIGPIPE, ignored and deadly"),
    row("stopped", "SIGSTOP and SIGCONT between calls"),
    row("filter-emulates", "a seccomp filter with a SIGSYS handler that answers"),
    row("filter-refuses", "a seccomp filter that lets no file be opened"),
    row("filter-kills", "a seccomp filter that kills"),
    row("filter-allows-few", "filters that kill for all but a few system calls",
        held="instruments/a_program_that_locks_itself_down"),
    # Limits.
    row("files-64", "RLIMIT_NOFILE 64 from the start", "files", before=("prlimit", "--nofile=64")),
    row("files-16", "RLIMIT_NOFILE 16 from the start", "files", before=("prlimit", "--nofile=16")),
    row("files-8", "RLIMIT_NOFILE 8 after calls were made", "few-files 8"),
    row("little-memory", "RLIMIT_AS 512 MiB"),
    row("little-memory-at-start", "RLIMIT_AS 512 MiB from the start", "nothing-odd",
        before=("prlimit", "--as=536870912")),
    row("no-memory", "RLIMIT_AS below what is in use", calls="counted"),
    row("small-files", "RLIMIT_FSIZE 4 KiB, with a handler", calls="counted", says=UNTRACKED),
    row("small-files-at-start", "RLIMIT_FSIZE 4 KiB from the start", "nothing-odd", before=("prlimit", "--fsize=4096"),
        calls="none", says=UNTRACKED),
    row("no-processes", "RLIMIT_NPROC 0 as another user"),
    row("no-core", "RLIMIT_CORE 0", "crash", before=("prlimit", "--core=0")),
    row("locked-memory", "mlockall"),
    row("one-cpu", "bound to one CPU, with low priority"),
    row("not-for-children", "MADV_DONTFORK and MADV_WIPEONFORK"),
    row("masked", "umask 777"),
    # Descriptors.
    row("close-range", "close_range() of everything, and the numbers used for files"),
    row("close-each", "close() of every number, as closefrom does"),
    row("dup-over-all", "dup2() over every number"),
    row("no-streams", "descriptors 0, 1 and 2 closed"),
    row("streams-closed-at-start", "started without descriptors 0, 1 and 2", "no-streams",
        before=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")),
    row("unusual-descriptors", "inotify on the own folder, epoll, timerfd, eventfd, memfd, io_uring"),
    # Privileges and places.
    row("chroot", "chroot after the first call"),
    row("chroot-fork", "a child after chroot, which has no access to the recording", calls="parent", says=UNTRACKED),
    row("folder-gone", "the working folder is removed"),
    row("other-user", "setuid and setgid after the first call"),
    row("other-user-fork", "a child of another user, who has no access to the recording", calls="parent",
        says=UNTRACKED),
    row("no-capabilities", "capset"),
    row("controlled", "PR_SET_DUMPABLE, PR_SET_PDEATHSIG, no_new_privs, odd PR_SET_NAME"),
    row("own-users", "a user namespace"),
    row("own-pids", "a child in a pid namespace"),
    row("container-users", "a user namespace from the start", "nothing-odd", before=("unshare", "--map-root-user")),
    row("container-pids", "the first process of a pid namespace", "nothing-odd", before=("unshare", "--pid", "--fork")),
    row("own-session", "setsid from the start", "nothing-odd", before=("setsid", "--wait")),
    row("fixed-addresses", "no address randomization", "nothing-odd", before=("setarch", "-R")),
    # Processes.
    row("vfork", "vfork and exec"),
    row("spawn", "posix_spawn"),
    row("clone", "raw clone, with CLONE_VM and without"),
    row("clone-sharing", "calls in a child that shares the memory", calls="most"),
    row("clone3", "clone3 past the C library"),
    row("forks-of-forks", "31 processes, four generations deep"),
    row("daemon", "a double fork with setsid"),
    row("exec-chain", "a program that executes itself five times"),
    row("exec-in-thread", "exec in a thread while another one makes calls", calls="most"),
    row("deleted-program", "the program's file is removed while it runs", before=("{copy:deleted}",)),
    row("exec-memory", "fexecve of a file in memory"),
    row("exec-without-environment", "exec with an empty environment"),
    row("without-environment", "clearenv()"),
    # Loading.
    row("plugins", "dlopen and dlclose of code that makes calls", "plugins {lib:libodd_plugin.so}"),
    row("namespaces", "dlmopen of the API's library"),
    row("failing-loads", "dlerror and errno after calls"),
    row("static", "a static program", doors=("none",), calls="none", 
        says=r"gputrack: \S+ is a static program, so no library can be loaded into it and it runs untracked: .*attach.*\n"),
    row("other-malloc", "another allocator preloaded before", "nothing-odd",
        env={"LD_PRELOAD": "{lib:libodd_malloc.so}"}),
    row("jemalloc", "jemalloc preloaded", "nothing-odd", env={"LD_PRELOAD": "{system:libjemalloc.so.2}"}),
    row("tcmalloc", "tcmalloc preloaded", "nothing-odd", env={"LD_PRELOAD": "{system:libtcmalloc.so.4}"}),
    row("audit", "LD_AUDIT", "nothing-odd", env={"LD_AUDIT": "{lib:libodd_audit.so}"}),
    row("bind-now", "LD_BIND_NOW", "nothing-odd", env={"LD_BIND_NOW": "1"}),
    row("perturbed-malloc", "MALLOC_PERTURB_", "nothing-odd", env={"MALLOC_PERTURB_": "165"}),
    row("huge-environment", "2 MB of environment", "nothing-odd",
        env={f"ODD_{i}": "x" * 100000 for i in range(20)}),
    row("odd-name", "a program name with blanks, a line end and escape codes", "nothing-odd",
        before=("{copy:odd \n\033[31m name}",)),
    row("no-argument-zero", "argv[0] is empty", "nothing-odd", before=("{exec:}",)),
    # Instruments.
    row("ptraced", "strace -f", "forks-in-threads", before=("strace", "-f", "-o", "/dev/null")),
    row("debugged", "gdb", "nothing-odd", before=("{gdb}",), doors=("levelzero",)),
    row("sanitizers-gcc", "ASan, UBSan and TSan of gcc", held="instruments/programs_with_the_sanitizers_of_gcc"),
    row("sanitizers-clang", "ASan, UBSan, TSan and MSan of clang", held="instruments/programs_with_the_sanitizers_of_clang"),
    row("profiled-builds", "gcov and gprof", held="instruments/programs_built_for_coverage_and_profiles"),
    row("memcheck", "valgrind's memcheck", held="instruments/memcheck"),
    row("helgrind", "valgrind's helgrind", held="instruments/helgrind"),
    row("rr", "rr record", held="instruments/rr"),
    row("timeout", "timeout(1), signals for the group", held="signals/a_signal_from_timeout_arrives_once"),
    row("terminal-stop", "stopped and continued in a terminal",
        held="signals/it_can_be_stopped_and_continued_in_a_terminal"),
    row("python", "Python with forked workers", held="processes/forked_python_workers_are_distinguished"),
    row("loader-lock", "calls in a library's constructor, while the loader's lock is held",
        held="crowds/calls_during_library_loading_do_not_hang"),
    row("driver-reloaded", "the loader, its driver and our layer unloaded and loaded again",
        held="crowds/a_driver_loaded_again_is_tracked_again"),
    row("set-user-id", "set-user-ID programs", held="boundaries/a_set_user_id_program_is_not_tracked"),
)
