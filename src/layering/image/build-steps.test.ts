import { expect, it } from 'vitest';
import { buildSteps } from './build-steps.ts';

const containerfile = 'FROM a AS one\nRUN x && \\\n  y\nFROM one AS two\nLABEL z=1\n';

it('counts over the stages', () => {
  const steps = buildSteps(containerfile);
  const seen = [
    '[1/2] STEP 1/2: FROM a AS one',
    'STEP is a word that packages print too',
    '[1/2] STEP 2/2: RUN x &&   y',
    '[2/2] STEP 1/2: FROM one AS two',
    'STEP 2/2: LABEL z=1',
    'STEP 3/2: more than there are',
  ].map(steps);
  expect(seen).toEqual([
    { at: 1, of: 4, text: 'FROM a AS one' },
    undefined,
    { at: 2, of: 4, text: 'RUN x &&   y' },
    { at: 3, of: 4, text: 'FROM one AS two' },
    { at: 4, of: 4, text: 'LABEL z=1' },
    { at: 4, of: 4, text: 'more than there are' },
  ]);
});
