/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * TLB flushes that are left to the host, for every interleaving: one vCPU, the
 * target, runs, switches between two mms, is lazy, halts, is preempted, polls,
 * goes offline and is reset, while others unmap a page or free a page table of
 * mm A. Never may the target use a page or walk a table that is free, and
 * nobody waits for ever.
 *
 * Names are those of arch/x86/mm/tlb.c, arch/x86/kernel/kvm.c (guest) and
 * arch/x86/kvm/x86.c (host). Memory is in order: all that is ordered here is
 * so on x86, since each step that matters to another CPU is, or follows, a
 * locked instruction (the increment of tlb_gen, cmpxchg and xchg of the byte,
 * set_bit in mm_cpumask) or a serializing one (a flush, VM-Entry).
 *
 * Not in here: preemption while the target runs L2, where patch and mainline
 * do the same; memslots that go away; flushes of the kernel's own memory,
 * which are interrupts as ever.
 *
 * -DBREAK=n leaves out one thing that matters; pv-shootdown-model.test sees each found.
 */

#ifndef FLUSHERS
#define FLUSHERS 1
#endif
#ifndef FLUSHES
#define FLUSHES 1
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define NO_FLUSH 1        /* the host takes the state back and flushes nothing */
#define FLUSH_FIRST 2     /* it flushes, and then clears the byte */
#define ENTER_FIRST 3     /* it enters the guest, and then takes the state back */
#define NO_REQUEST 4      /* after a poll, it does not take it back */
#define LOADED_PCID 5     /* it flushes the PCID that is loaded only */
#define MARK_EMULATING 6  /* it marks a vCPU that is emulated half way */
#define OVERWRITE 7       /* a marked vCPU that is preempted is marked again */
#define MARK_L2 8         /* it marks a vCPU that halts in L2 */
#define RESET_KEEPS 9     /* INIT leaves the mark */
#define PLAIN_SET 10      /* the guest asks without looking if the byte changed */
#define ASK_EARLY 11      /* it asks before the entry is cleared */
#define SKIP_LAZY 12      /* it leaves lazy CPUs alone though a table is freed */
#define TABLE_AT_ONCE 13  /* it frees tables without tlb_remove_table() */

/* The byte. */
#define PREEMPTED 1
#define FLUSH 2
#define HALTED 4

#define NONE 0
#define LAST (FLUSHERS * FLUSHES + 1)

/* Page tables of A: the table there is, what it maps, and what was freed. */
byte table = 1, page = 1;
byte maps[LAST + 1];
bool table_free[LAST + 1], page_free[LAST + 1];
byte tlb_gen = 1;
bool ptl;

/* The target as others see it. */
mtype = { A, B, SWITCHING };
mtype loaded_mm = B;
bool in_mask, is_lazy, ipi, in_gup;
byte preempted;

/* Its own, and the host's of it. */
mtype { GUEST, HOST, HLT };
mtype mode = GUEST;
bool cr3_is_a, irqs = true, in_l2;
byte tlb = NONE, psc = NONE, ctx_gen = 0; /* of A's PCID */
bool recorded = true, steal_update;
byte st_preempted;
bool offline;

#define FLUSH_A tlb = NONE; psc = NONE
/* A step of the guest's, while the vCPU runs: what begins with a condition. */
#define G(what) atomic { mode == GUEST && what }
#define STEP(what) atomic { mode == GUEST -> what }

/* The walker reads the upper entry, or has it cached, and the table. */
inline walk() {
  if
  :: psc == NONE -> psc = table
  :: else
  fi;
  if
  :: psc != NONE ->
     assert(!table_free[psc]);
     if
     :: maps[psc] != NONE -> tlb = maps[psc]
     :: else
     fi
  :: else
  fi
}

proctype target() {
  byte gen, t;
end:
  do
  /* It may walk at any time, also when lazy, and uses what is in the TLB. */
  :: G(cr3_is_a && !in_l2 -> walk())
  :: G(loaded_mm == A && !is_lazy && irqs && !in_l2 && tlb != NONE ->
       assert(!page_free[tlb]))

  /* get_user_pages_fast() */
  :: G(loaded_mm == A && !is_lazy && irqs && !in_l2 -> irqs = false; in_gup = true);
     STEP(t = table);
     STEP(assert(t == NONE || !table_free[t]); in_gup = false; irqs = true; t = NONE)

  /* enter_lazy_tlb(), and back, by switch_mm_irqs_off() */
  :: G(loaded_mm == A && irqs && !is_lazy && !in_l2 -> is_lazy = true)
  :: G(loaded_mm == A && irqs && is_lazy && !in_l2 -> irqs = false);
     STEP(is_lazy = false);
     STEP(gen = tlb_gen);
     STEP(if
       :: ctx_gen != gen -> ctx_gen = gen; FLUSH_A
       :: else
       fi;
       irqs = true; gen = 0)

  /* switch_mm_irqs_off() to another mm, and to this one */
  :: G(loaded_mm == A && irqs && !in_l2 -> irqs = false; is_lazy = false; loaded_mm = SWITCHING);
     STEP(in_mask = false);
     STEP(cr3_is_a = false);
     STEP(loaded_mm = B; irqs = true)
  :: G(loaded_mm == B && irqs && !offline && !in_l2 -> irqs = false; loaded_mm = SWITCHING);
     STEP(in_mask = true);
     STEP(gen = tlb_gen);
     STEP(cr3_is_a = true;
       if
       :: ctx_gen != gen -> ctx_gen = gen; FLUSH_A
       :: else
       fi;
       gen = 0);
     STEP(loaded_mm = A; irqs = true)

  /* HLT, by the idle task, or by a waiter for a spinlock */
  :: G(irqs -> mode = HLT)

  /* L2 runs and ends; its translations are others */
  :: G(irqs && !in_l2 && loaded_mm == A && !is_lazy -> in_l2 = true)
  :: G(in_l2 -> in_l2 = false)

  /* flush_tlb_func() */
  :: G(ipi && irqs && !in_l2 ->
       if
       :: loaded_mm == A && is_lazy ->
          is_lazy = false; loaded_mm = B; in_mask = false; cr3_is_a = false
       :: loaded_mm == A && !is_lazy && ctx_gen != tlb_gen ->
          ctx_gen = tlb_gen; FLUSH_A
       :: else
       fi;
       ipi = false)
  :: G(ipi && in_l2 -> in_l2 = false)

  /* Offline and online, see kvm_guest_cpu_offline() */
  :: G(loaded_mm == B && irqs && !offline && !in_l2 -> recorded = false);
     STEP(offline = true);
     STEP(ctx_gen = 0; FLUSH_A; offline = false);
     STEP(recorded = true; steal_update = true)
  od
}

/* record_steal_time() */
inline flush_all() {
  if
  :: in_l2 /* L2's are flushed */
  :: !in_l2 && BREAK == NO_FLUSH
  :: !in_l2 && BREAK == LOADED_PCID && !cr3_is_a
  :: else -> FLUSH_A
  fi
}

inline take_back() {
  if
  :: !steal_update
  :: else ->
     steal_update = false;
     if
     :: !recorded
     :: recorded && BREAK == FLUSH_FIRST ->
        if
        :: preempted & FLUSH -> flush_all()
        :: else
        fi;
        preempted = 0; st_preempted = 0
     :: else ->
        atomic { old = preempted; preempted = 0 };
        st_preempted = 0;
        if
        :: old & FLUSH -> flush_all()
        :: else
        fi;
        old = 0
     fi
  fi
}

inline enter() {
  if
  :: BREAK == ENTER_FIRST -> mode = GUEST; take_back()
  :: else -> take_back(); mode = GUEST
  fi
}

/* kvm_steal_time_set_preempted(), and kvm_arch_vcpu_load() */
inline sched_out_and_in(at_instruction_boundary) {
  if
  :: at_instruction_boundary && recorded &&
     (st_preempted == 0 || BREAK == OVERWRITE) ->
     preempted = PREEMPTED; st_preempted = PREEMPTED
  :: else
  fi;
  steal_update = true
}

proctype host() {
  byte old, used;
end:
  do
  :: atomic { mode == GUEST && !in_l2 -> mode = HOST };
     if
     :: sched_out_and_in(true)
     /* Emulation uses a translation that it had before it was preempted. */
     :: cr3_is_a && loaded_mm == A && !is_lazy ->
        atomic { used = table; if :: used != NONE -> used = maps[used] :: else fi };
        sched_out_and_in(BREAK == MARK_EMULATING);
        if
        :: used != NONE -> assert(!page_free[used])
        :: else
        fi;
        used = NONE
     fi;
     enter()

  :: mode == HLT ->
     /* kvm_steal_time_set_halted() */
     if
     :: !ipi && recorded && st_preempted == 0 && (!in_l2 || BREAK == MARK_L2) ->
        atomic {
          if
          :: preempted == 0 ->
             preempted = HALTED; st_preempted = HALTED;
             steal_update = (BREAK != NO_REQUEST)
          :: else
          fi
        }
     :: else
     fi;
     /* Polls, or sleeps until an interrupt, this or any other, wakes it up. */
     if
     :: true
     :: sched_out_and_in(BREAK == OVERWRITE)
     fi;
     if
     :: enter()
     /* INIT: the vCPU starts anew, without a record. */
     :: loaded_mm == B && irqs && !in_l2 ->
        if
        :: BREAK != RESET_KEEPS -> steal_update = true; take_back()
        :: else
        fi;
        recorded = false; st_preempted = 0; steal_update = false;
        ctx_gen = 0; FLUSH_A;
        mode = GUEST
     fi
  od
}

/* kvm_flush_tlb_multi(), native_flush_tlb_multi() */
inline flush_tlb_multi(freed_tables) {
  state = preempted;
  if
  :: state == HALTED && is_lazy && (!freed_tables || BREAK == SKIP_LAZY) -> state = 0
  :: else
  fi;
  deferred = false;
  do
  :: (state & (PREEMPTED | HALTED)) && !deferred ->
     if
     :: BREAK == PLAIN_SET -> preempted = state | FLUSH; deferred = true
     :: else ->
        atomic {
          if
          :: preempted == state ->
             preempted = state | FLUSH; deferred = true
          :: else -> state = preempted
          fi
        }
     fi
  :: else -> break
  od;
  if
  :: deferred
  :: !deferred && is_lazy && (!freed_tables || BREAK == SKIP_LAZY)
  :: else ->
     if
     :: !freed_tables && loaded_mm == B
     :: else -> ipi = true; !ipi
     fi
  fi;
  state = 0; deferred = false
}

proctype flusher() {
  byte flushes, old_page, old_table, state;
  bool deferred, freed;
  do
  :: flushes == FLUSHES -> break
  :: else ->
     flushes++;
     /* Under the lock of the tables; the flush and what is freed come after. */
     atomic { !ptl -> ptl = true };
     if
     :: freed = true
     :: freed = false
     fi;
     if
     :: BREAK == ASK_EARLY && in_mask -> flush_tlb_multi(freed)
     :: else
     fi;
     atomic {
       old_page = page; maps[table] = NONE;
       if
       :: freed -> old_table = table; table = NONE
       :: else
       fi
     };
     tlb_gen++;
     if
     :: BREAK != ASK_EARLY && in_mask -> flush_tlb_multi(freed)
     :: else
     fi;
     page_free[old_page] = true;
     if
     :: freed ->
        if
        :: BREAK != TABLE_AT_ONCE -> !in_gup
        :: else
        fi;
        table_free[old_table] = true
     :: else
     fi;
     /* Others in their place. */
     atomic {
       page++;
       if
       :: freed -> table = old_table + 1; maps[table] = page
       :: else -> maps[table] = page
       fi;
       old_page = 0; old_table = 0; freed = false;
       ptl = false
     }
  od
}

init {
  byte i;
  atomic {
    maps[1] = 1;
    run target();
    run host();
    for (i : 1 .. FLUSHERS) { run flusher() }
  }
}
