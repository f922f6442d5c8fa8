import { describe, expect, it } from 'vitest';
import { type DaemonFindings, daemonVerdict } from './verdict.ts';

const switched: DaemonFindings = {
  booted: 'built',
  recorded: 'built',
  currentImage: 'built',
  named: 'stock',
};
const untouched: DaemonFindings = {
  booted: 'stock',
  recorded: '',
  currentImage: '',
  named: 'stock',
};
const degraded = (words: string) => ({
  state: 'Degraded',
  reason: expect.stringContaining(words) as string,
});

describe('the daemon of a node that was restarted', () => {
  it.each<readonly [string, DaemonFindings, object]>([
    ['is content with a node that says and records what it runs', switched, { state: 'Done' }],
    ['is content with a node that nobody changed', untouched, { state: 'Done' }],
    [
      'holds the system against the file, not against the MachineConfig',
      { ...switched, booted: 'stock' },
      degraded('expected target osImageURL "built", have "stock"'),
    ],
    [
      'holds it against the annotation where there is no file',
      { ...switched, recorded: '', booted: 'stock' },
      degraded('expected target osImageURL "built", have "stock"'),
    ],
    [
      'holds it against the MachineConfig where there is neither',
      { ...untouched, booted: 'built' },
      degraded('expected target osImageURL "stock", have "built"'),
    ],
    [
      'misses the annotation',
      { ...switched, currentImage: '' },
      degraded('the disk records the image "built", the node says ""'),
    ],
    [
      'misses the file',
      { ...switched, recorded: '' },
      degraded('the disk records the image "", the node says "built"'),
    ],
  ])('%s', (_, findings, verdict) => {
    expect(daemonVerdict(findings)).toEqual(verdict);
  });
});
