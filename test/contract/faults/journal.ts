// What becomes of a run whose journal cannot be written, or that ends while it writes.
// test/roles/journal-faults.test.ts runs the faults of the disk at each write of each role.

/** A fault of a write that the disk has. */
export type DiskFault = 'full disk' | 'read-only';

/** A line of the journal by what it says. */
export type WriteKind =
  'aside' | 'header' | 'started' | 'finished' | 'left' | 'failed' | 'stopped' | 'set aside';

/** What becomes of a write. */
export interface JournalRow {
  readonly write: WriteKind;
  /** For people. */
  readonly means: string;
  /**
   * With a fault of the disk: `ends`: the run ends with `journal.not-kept`; `warns`: it ends as it
   * would, and a warning says that the journal does not; `continues`: the run ends at the next line
   * that it needs, if there is one.
   */
  readonly outcome: 'ends' | 'warns' | 'continues';
  /** What has been done by then. */
  readonly done: string;
  /** What the next process of the same boot does, after any of the faults. */
  readonly next: string;
}

/** Every kind of write. */
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
