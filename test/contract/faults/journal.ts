// Outcomes of a run whose journal cannot be written, or that ends during a write.
// test/roles/journal-faults.test.ts runs the faults of the disk at each write of each role.

/** A fault of the disk at a write. */
export type DiskFault = 'full disk' | 'read-only';

/** A line of the journal by its content. */
export type WriteKind =
  'aside' | 'header' | 'started' | 'finished' | 'left' | 'failed' | 'stopped' | 'set aside';

/** The outcome of a failed write. */
export interface JournalRow {
  readonly write: WriteKind;
  /** Description for people. */
  readonly means: string;
  /**
   * Outcome of a disk fault. `ends`: the run ends with `journal.not-kept`; `warns`: it ends as
   * usual, and a warning says that the journal does not; `continues`: the run ends at the next line
   * that it needs, if there is one.
   */
  readonly outcome: 'ends' | 'warns' | 'continues';
  /** The work that is done by then. */
  readonly done: string;
  /** The behaviour of the next process in the same boot, after any of the faults. */
  readonly next: string;
}

/** All kinds of writes. */
export const journalRows: readonly JournalRow[] = [
  {
    write: 'header',
    means: 'a run begins',
    outcome: 'ends',
    done: 'nothing',
    next: 'begins with the first step',
  },
  {
    write: 'set aside',
    means: 'the journal of an earlier run is set aside',
    outcome: 'ends',
    done: 'nothing',
    next: 'begins with the first step',
  },
  {
    write: 'started',
    means: 'a step begins',
    outcome: 'ends',
    done: 'nothing of the step',
    next: 'continues with the step',
  },
  {
    write: 'finished',
    means: 'a step has finished',
    outcome: 'ends',
    done: 'all of the step; nothing that uses what it gives',
    next: 'runs the step again, or looks at the host for what it has done',
  },
  {
    write: 'left',
    means: 'the step that leaves the host has finished',
    outcome: 'warns',
    done: 'all: the host reboots',
    next: 'no next run',
  },
  {
    write: 'failed',
    means: 'a step has failed',
    outcome: 'warns',
    done: 'what the step did before it failed',
    next: 'continues with the step',
  },
  {
    write: 'stopped',
    means: 'a step was stopped',
    outcome: 'warns',
    done: 'what the step did before it was stopped',
    next: 'continues with the step',
  },
  {
    write: 'aside',
    means: 'a step beside the run, or at its end, begins or ends',
    outcome: 'continues',
    done: 'whatever the step does',
    next: 'runs the step again, as each process does',
  },
];
