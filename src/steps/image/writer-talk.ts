import { parseWriterLine } from './writer-line.ts';

/** So many lines are kept; the writer says far fewer. */
const linesKept = 200;

/** Lines that come only after the writer has laid hand on the disk. */
const afterTouch =
  /^(Resetting|Preserving) partition table|^Writing Ignition config|^Install complete/;

/** What the writer says, beside progress. */
export interface WriterTalk {
  readonly take: (line: string) => void;
  readonly lines: () => readonly string[];
  /** The disk is not as it was. Before it is, a busy disk for example, it must be left alone. */
  readonly hasTouchedDisk: () => boolean;
}

/** Begins to listen to one run of the writer. */
export function writerTalk(): WriterTalk {
  let lines: readonly string[] = [];
  let hasTouched = false;
  return {
    lines: () => lines,
    hasTouchedDisk: () => hasTouched,
    take: (line) => {
      const isProgress = parseWriterLine(line) !== undefined;
      hasTouched ||= isProgress || afterTouch.test(line);
      if (!isProgress) lines = [...lines, line.trimEnd()].slice(-linesKept);
    },
  };
}
