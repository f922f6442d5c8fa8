import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** What the last look at the written disk finds wrong. */
export const checkBootFailures = {
  'disk.will-not-boot': {
    kind: 'media',
    title: 'The install disk would not start into what was installed',
    hint: 'run the installation of this host again; if it comes again, look at the disk and its log in the kernel',
  },
} as const satisfies FailureTable;

/** Builds an error of the last look at the disk. */
export const checkBootFailure = failuresOf(checkBootFailures);
