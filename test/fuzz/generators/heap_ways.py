# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs with blocks that libraries know, and calls that do not return.

A loop takes a block, hands its address to something (TELL), does something else, and uses
or frees the block through what it gets back. Between blocks, when nothing is held, it may
be left by longjmp, an exception, a signal handler, or the cancellation of its thread. The
program prints a checksum. Odd seeds are in C, even ones in C++.
"""

import random

from .heap_ways_prelude import C_ONLY, CXX_ONLY, HEADERS, PRELUDE

# (what makes the block at $p of $s bytes known, what finds it again). $q is a pointer that
# the second sets, and that is equal to $p or null; $n makes a name unique.
TELL = [
    ('char t$n[32]; snprintf(t$n, sizeof t$n, "%p", (void *)$p);', 'void *v$n; if (sscanf(t$n, "%p", &v$n) == 1) $q = (char *)v$n;'),
    ('char t$n[64]; sprintf(t$n, "%d %s %p", i, "at", (void *)$p);', 'void *v$n; if (sscanf(t$n, "%*d at %p", &v$n) == 1) $q = (char *)v$n;'),
    ('char t$n[32]; snprintf(t$n, sizeof t$n, any_format, (void *)$p);', '$q = (char *)(uintptr_t)strtoull(t$n, 0, 16);'),
    ('char t$n[32]; snprintf(t$n, sizeof t$n, "%#lx", (unsigned long)$p);', '$q = (char *)(uintptr_t)strtoull(t$n, 0, 0);'),
    ('char t$n[32]; wrapped(t$n, sizeof t$n, "%p", (void *)$p);', '$q = (char *)(uintptr_t)strtoull(t$n, 0, 16);'),
    ('char *t$n = 0; if (asprintf(&t$n, "%p", (void *)$p) < 0) t$n = 0;', 'if (t$n) { $q = (char *)(uintptr_t)strtoull(t$n, 0, 16); free(t$n); }'),
    ('FILE *t$n = tmpfile(); if (t$n) fprintf(t$n, "%p", (void *)$p);', 'if (t$n) { void *v$n; rewind(t$n); if (fscanf(t$n, "%p", &v$n) == 1) $q = (char *)v$n; fclose(t$n); }'),
    ('(void)!write(pipes[1], &$p, sizeof $p);', '(void)!read(pipes[0], &$q, sizeof $q);'),
    ('pthread_setspecific(key, $p);', '$q = (char *)pthread_getspecific(key);'),
    ('uintptr_t t$n = (uintptr_t)$p ^ (uintptr_t)five;', '$q = (char *)(t$n ^ (uintptr_t)five);'),
    ('char t$n[sizeof $p]; memcpy(t$n, &$p, sizeof $p);', 'memcpy(&$q, t$n, sizeof $p);'),
    ('struct iovec t$n = {$p, 16};', 'char v$n[16]; (void)!writev(pipes[1], &t$n, 1); (void)!read(pipes[0], v$n, 16); see((unsigned)v$n[3]);'),
    ('struct epoll_event t$n; t$n.events = EPOLLOUT; t$n.data.ptr = $p; epoll_ctl(watched, EPOLL_CTL_ADD, pipes[1], &t$n);',
     'struct epoll_event v$n; if (epoll_wait(watched, &v$n, 1, 0) == 1) $q = (char *)v$n.data.ptr; epoll_ctl(watched, EPOLL_CTL_DEL, pipes[1], &v$n);'),
    ('union sigval t$n; t$n.sival_ptr = $p; pthread_sigqueue(pthread_self(), SIGUSR2, t$n);', '$q = (char *)told;'),
    ('first_word($p);', 'next_word();'),
    ('char *t$n; strtok_r($p, " ", &t$n);', 'char *v$n = strtok_r(0, " ", &t$n); if (v$n) see(look(v$n, strlen(v$n)));'),
    ('char *t$n; see((unsigned)strtol($p, &t$n, 10));', 'see((unsigned)*t$n);'),
    ('mark = strchr($p, \' \');', 'if (mark) see(look(mark, strlen(mark)));'),
    ('size_t t$n = 8; char *v$n = (char *)lfind(" ", $p, &t$n, 1, by_byte);', 'if (v$n) see((unsigned)*v$n + (unsigned)(v$n - $p));'),
    ('char *t$n[3] = {$p, (char *)"zz", (char *)"!"}; qsort(t$n, 3, sizeof *t$n, by_text);', '$q = t$n[1]; see((unsigned)t$n[0][0]);'),
    ('tsearch($p, &tree, by_name);', 'void *v$n = tfind($p, &tree, by_name); if (v$n) { $q = *(char **)v$n; tdelete($q, &tree, by_name); }'),
    ('FILE *t$n = fmemopen($p, $s, "r");', 'if (t$n) { see((unsigned)fgetc(t$n)); see((unsigned)fgetc(t$n)); fclose(t$n); }'),
    ('FILE *t$n = fopen("/dev/null", "w"); if (t$n) setvbuf(t$n, $p, _IOFBF, $s);', 'if (t$n) { fprintf(t$n, "%d", i); see((unsigned)$p[0]); fclose(t$n); }'),
    ('cookie_io_functions_t f$n = {cookie_read, 0, 0, 0}; FILE *t$n = fopencookie($p, "r", f$n);', 'if (t$n) { see((unsigned)fgetc(t$n)); fclose(t$n); }'),
    ('char *t$n = initstate(x, $p, 32);', 'see((unsigned)random()); see((unsigned)random()); setstate(t$n);'),
    ('strcpy($p, "VFQ=ab12"); $p[6] = (char)(\'0\' + i % 10); putenv($p);', 'char *v$n = getenv("VFQ"); if (v$n) see(look(v$n, 4)); unsetenv("VFQ");'),
    ('shared = $p; raise(SIGUSR2);', 'see(shared ? (unsigned)shared[1] : 0u); shared = 0;'),
    ('pthread_t t$n; int v$n = pthread_create(&t$n, 0, reader, $p);', 'if (!v$n) { pthread_join(t$n, 0); see(seen); }'),
    ('int t$n[4] = {3, 1, i, 2}; qsort_r(t$n, 4, sizeof(int), by_number_into, $p);', 'see((unsigned)$p[0]);'),
    ('dl_iterate_phdr(once_into, $p);', 'see((unsigned)$p[0]);'),
    ('snprintf(sink, sizeof sink, "ab%n", (int *)$p);', 'see(*(unsigned *)$p);'),
    ('__asm__ volatile("" : "=r"($q) : "0"($p));', 'see((unsigned)$q[0]);'),
    ('{ char *t$n = (char *)realloc($p, $s + 40); if (t$n) $p = t$n; }', 'see((unsigned)$p[1]);'),
    ('{ char *t$n = (char *)realloc($p, 48); if (t$n) { $p = t$n; $s = 48; } }', 'see((unsigned)$p[1]);'),
    ('holder.at = &$p;', 'if (holder.at) $q = *holder.at; holder.at = 0;'),
    ('struct holder t$n = {&$p, $p}; struct holder v$n = t$n;', '$q = v$n.it;'),
    ('stack_of[i & 7] = $p;', '$q = stack_of[i & 7];'),
    ('list_push($p);', '$q = list_pop();'),
    # Functions that return what they are given.
    ('char *t$n = stpcpy($p, "12 34");', 'see((unsigned)t$n[-1]); $q = t$n - 5;'),
    ('char *t$n = gcvt(1.5 + i, 5, $p);', '$q = t$n;'),
    ('FILE *t$n = fmemopen((char *)"line of text", 12, "r"); char *v$n = 0; if (t$n) { v$n = fgets($p, (int)$s, t$n); fclose(t$n); }', '$q = v$n;'),
    ('const char *t$n = inet_ntop(AF_INET, "ab12", $p, (socklen_t)$s);', '$q = (char *)t$n;'),
    ('$p[20] = 0; char *t$n = strncat($p, "9", 1);', '$q = t$n;'),
    ('struct tm m$n; memset(&m$n, 0, sizeof m$n); char *t$n = asctime_r(&m$n, $p);', '$q = t$n;'),
    ('char *t$n = $p; see((unsigned)strlen(strsep(&t$n, " ")));', 'if (t$n) see((unsigned)*t$n);'),
    ('memset($p, 65, $s);', 'see(look($p, $s)); $p[9] = 0;'),
    ('if (write(pipes[1], $p, 8) == 8) (void)!read(pipes[0], $p + 8, 8);', 'see(look($p, 16));'),
]
TELL_CXX = [
    ('std::function<unsigned()> t$n = [=] { return (unsigned)$p[2]; };', 'see(t$n());'),
    ('', 'try { throw Carrier{$p}; } catch (Carrier &c) { $q = c.p; }'),
    ('std::vector<char *> t$n(3, $p); std::sort(t$n.begin(), t$n.end());', '$q = t$n[2];'),
    ('std::map<int, char *> t$n; t$n[i] = $p;', '$q = t$n.begin()->second;'),
    ('std::string t$n($p);', 'see((unsigned)t$n.size());'),
    ('std::unique_ptr<char, void (*)(char *)> t$n($p, only_look);', '$q = t$n.release();'),
    ('std::exception_ptr t$n = std::make_exception_ptr(Carrier{$p});', 'try { std::rethrow_exception(t$n); } catch (Carrier &c) { $q = c.p; }'),
]

# What there is one of: a block inside another's life may not use it too.
SHARED = ("pipes", "key", "_word", "mark", "tree", "told", "stack_of", "getenv", "shared", "holder.at", "list_", "reader")

# Leave the loop if $c, or do something else, with nothing held.
LEAVE = [
    'jump($c);',
    'leaving = $c; qsort(numbers, 8, sizeof *numbers, by_number);',
    'leaving = $c; int k$n = 4; bsearch(&k$n, sorted, 8, sizeof *sorted, by_number);',
    'leaving = $c; int k$n = 4; size_t z$n = 8; lfind(&k$n, numbers, &z$n, sizeof *numbers, by_number);',
    'leaving = $c; int k$n = 5; tfind(&k$n, &small_tree, by_number);',
    'leaving = $c; qsort_r(numbers, 8, sizeof *numbers, by_number_r, 0);',
    'leaving = $c; twalk(small_tree, each_node);',
    'callback($c);',
]
# An exception lets go of the loader's lock, longjmp does not.
LEAVE_CXX = ['leaving = $c; dl_iterate_phdr(each_object, 0);']
# A handler leaves by siglongjmp; not through C++ frames that own something.
LEAVE_SIGNAL = [
    'leaving = $c; raise(SIGUSR1);',
    'leaving = $c; kill(getpid(), SIGUSR1);',
    'leaving = $c; pthread_kill(pthread_self(), SIGUSR1);',
    'leaving = $c; block(1); raise(SIGUSR1); block(0);',
    'if ($c) { leaving = 1; abort(); }',
    'leaving = $c; block(1); raise(SIGUSR1); suspend();',
]
# Not asynchronous cancellation: a call frame need not be unwindable at any instruction.
# Cancellation points: for $k false they return at once, for $k true they never do.
CANCEL = [
    'char c$n; if (!$k) (void)!write(pipes[1], "x", 1); (void)!read(pipes[0], &c$n, 1);',
    'nap($k ? 100000 : 0);',
    'if ($k) for (;;) { pthread_testcancel(); sched_yield(); }',
    'if (!$k) sem_post(&gate); sem_wait(&gate);',
    'struct pollfd f$n = {pipes[0], POLLIN, 0}; poll(&f$n, 1, $k ? -1 : 0);',
    'struct timeval v$n = {$k ? 100000 : 0, 0}; select(0, 0, 0, 0, &v$n);',
    'if ($k) pause();',
    'if ($k) sleep(100000);',
    'if ($k) { int w$n; sigset_t m$n; sigemptyset(&m$n); sigaddset(&m$n, SIGHUP); sigwait(&m$n, &w$n); }',
    'if ($k) { pthread_mutex_lock(&mutex); pthread_cleanup_push(unlock, 0); for (;;) pthread_cond_wait(&never_signalled, &mutex); pthread_cleanup_pop(1); }',
    'if ($k) { int o$n; pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &o$n); nap(0); pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &o$n); for (;;) nap(1); }',
    'if ($k) end_thread();',
    'if ($k) blocked(100000);',
]


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.cxx = seed % 2 == 0
        # What an exception of the standard library passes by is lost.
        self.loses = self.cxx
        self.count = 0
        self.in_thread = False  # Where nothing catches what is thrown.

    def fill(self, text, **names):
        self.count += 1
        names["n"] = str(self.count)
        for name, value in sorted(names.items(), reverse=True):
            text = text.replace("$" + name, value)
        return text

    def condition(self):
        return self.r.choice(["(fuel % 7 == 3)", "(r == 2)", "((x & 7) == 5)", "(i == 2 && r == 1)", "(fuel % 5 == 1)", "0"])

    def leave(self):
        kinds = LEAVE + (LEAVE_CXX if self.cxx else LEAVE_SIGNAL)
        return "{ " + self.fill(self.r.choice(kinds), c=self.condition()) + " }"

    def take(self):
        size = self.r.choice(["64", "100", "200", "1000", "64 + (x & 63)", "64 + (size_t)i * 16", "n + 64", "100000"])
        call, free = self.r.choice([("malloc($s)", "free($p);")] * 4 + [("calloc($s, 1)", "free($p);"), ("aligned_alloc(64, ($s + 63) / 64 * 64)", "free($p);")]
                                   + ([("::operator new($s, std::nothrow)", "::operator delete($p);"),
                                       ("new (std::nothrow) char[$s]", "delete[] $p;")] if self.cxx else []))
        return size, call, free

    def tells(self, free, nested):
        every = TELL + (TELL_CXX * 3 if self.cxx and not self.in_thread else [])
        while True:
            tell = self.r.choice(every)
            by_realloc = "realloc" in tell[0] and not free.startswith("free")
            if not by_realloc and not (nested and any(word in "".join(tell) for word in SHARED)):
                return tell

    def region(self, give_up, nested=0):
        size, call, free = self.take()
        n = self.count = self.count + 1
        names = {"p": f"p{n}", "s": f"s{n}", "q": f"q{n}"}
        tell, learn = (self.fill(part, **names).replace("$n", str(n)) for part in self.paired(self.tells(free, nested), n))
        noise = "".join(self.r.sample(["stir();", "see(x);", "x = x * 5 + 1;", "apart();", "nap(0);"], self.r.randrange(1, 3)))
        if nested < 1 and self.r.random() < 0.3:
            noise += self.region("see(76);", nested + 1)
        use = self.r.choice(["", f"see(look(p{n}, 16));", f"x += (unsigned)strlen(p{n});", f"digits(p{n}, 32, (int)x);"])
        last = self.r.choice([f"p{n}", f"p{n}", f"(q{n} ? q{n} : p{n})"])
        check = f"if (q{n} && q{n} != p{n}) see(66); if (q{n}) see(look(q{n}, 16));"
        # The last use by another pointer, in another function, is what a pass must foresee.
        check = self.r.choice([check, f"stir(); if (q{n}) by_pointer(q{n});", f"if (q{n}) {{ q{n}[0] ^= 1; see(look(q{n}, 16)); }}", f"if (q{n}) by_pointer(q{n});"])
        give_up = f"if (!p{n}) {{ see(77); {give_up} }}"
        body = (f"digits(p{n}, s{n} < 64 ? s{n} : 64, (int)x + i); {use} {tell} {noise} {learn} {check} "
                f"{self.release(free, n, last)}")
        # What the tells declare must not be passed over.
        return (f"{{ size_t s{n} = {size}; char *q{n} = 0; char *p{n} = (char *){self.fill(call, **names)}; {give_up} "
                f"{'else' if 'see(76)' in give_up else ''} {{ {body} }} }}")

    def release(self, free, n, last):
        """By the pointer itself, or in another function, which knows only the one found."""
        if free.startswith("free") and self.r.random() < 0.3:
            return f"if (q{n}) release(q{n}); else free(p{n});"
        return self.fill(free, p=last)

    def paired(self, tell, n):
        """Both halves name what they share alike."""
        return tuple(part.replace("$n", str(n)) for part in tell)

    def function(self, k):
        apart = self.r.choice(["APART ", "APART ", "static "])
        # A literal bound may be unrolled, a variable one is not.
        bound = self.r.choice(["five", "5", "3", "i + 2"])
        body = [self.leave() if self.r.random() < 0.4 else "", self.region("continue;" if self.r.random() < 0.5 else "return 0;"),
                self.leave() if self.r.random() < 0.6 else "see(x);"]
        return (f"{apart}int f{k}(int i, size_t n, unsigned x) {{ for (int r = 0; r < {bound}; ++r) {{ if (!burn()) break; "
                f"x = x * 3 + (unsigned)r; {' '.join(body)} }} {self.leave().replace('r ==', 'i ==') if self.r.random() < 0.3 else ''} return (int)x; }}\n")

    def cancelled(self, k):
        """A thread that is cancelled when it holds nothing, or what a clean-up handler frees."""
        self.in_thread = True
        held = self.r.random() < 0.25
        point = self.fill(self.r.choice(CANCEL), k="(r == 3)")
        region = self.region("{ atomic_store(&ready, 1); return 0; }") if not held else ""
        if held:
            region = ("char *p = (char *)malloc(300); if (!p) { atomic_store(&ready, 1); return 0; } digits(p, 64, r); "
                      "pthread_cleanup_push(free, p); "
                      f"if (r == 3) atomic_store(&ready, 1); {{ {point} }} see(look(p, 9)); pthread_cleanup_pop(1);")
            point = ""
        return (f"static void *c{k}(void *a) {{ unsigned x = 5; int i = 2; size_t n = 40; (void)a; (void)n; for (int r = 0; r < 9; ++r) {{ {region} "
                f"{'' if held else 'if (r == 3) atomic_store(&ready, 1);'} {{ {point} }} }} return 0; }}\n")

    def text(self):
        functions = "".join(self.function(k) for k in range(4))
        threads = "".join(self.cancelled(k) for k in range(2))
        calls = [f"see((unsigned)f{k}(i, (size_t)numbers[i & 3], sum & 255));" for k in range(4)]
        if self.cxx:
            each = "\n".join(f"try {{ {call} }} catch (Thrown &) {{ see(1); }} catch (std::bad_alloc &) {{ see(2); }}" for call in calls)
        else:
            each = "\n".join(f"if (!sigsetjmp(out, 1)) {{ {call} }} else see(1);" for call in calls)
        headers = "".join(f"#include <{h}>\n" for used, h in HEADERS.items() if used in functions + threads)
        return (headers + PRELUDE + (CXX_ONLY if self.cxx else C_ONLY) + functions + threads +
                "int main(void) { begin();\nfor (volatile int j = 0; j < 4; ++j) { int i = j; fuel = 60;\n"
                f"{each}\n}}\ncancel(c0);\ncancel(c1);\nend(); EPILOGUE; printf(\"%u\\n\", sum); return 0; }}\n")
