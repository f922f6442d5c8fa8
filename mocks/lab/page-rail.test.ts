import { expect, it } from 'vitest';
import type { PlannedStep } from '../../src/engine/describe.ts';
import { railPicture, stepList } from '../../src/page/rail-view.ts';
import { stageStep, railSteps, tracksOf } from '../../src/page/rail.ts';
import type { HostState } from '../../src/page/state.ts';
import { railOfPlan } from './page-rail.ts';

const step = (id: string, change: Partial<PlannedStep> = {}): PlannedStep => ({
  id,
  title: id.toUpperCase(),
  isActive: true,
  destroys: false,
  preflight: false,
  leaves: false,
  rerun: 'safe',
  uses: [],
  needs: [],
  limit: 1,
  attempts: 1,
  commands: [],
  programs: [],
  ...change,
});

const rail = railOfPlan(
  {
    items: [
      { kind: 'step', step: step('disk/lock') },
      { kind: 'step', step: step('disk/format', { isActive: false }) },
      {
        kind: 'lanes',
        lanes: [
          { name: 'disk', steps: [step('image/write'), step('layering/build-images')] },
          { name: 'cluster', steps: [step('cluster/wait', { waitsFor: 'masters' })] },
        ],
      },
      { kind: 'step', step: step('finish/leave') },
    ],
    always: [step('logs/keep')],
  },
  ['Configuring', 'Done'],
);

it('has the steps of a plan in sections, with what each works at, and the stages behind it', () => {
  expect(rail.map((section) => section.map(({ name, steps }) => [name, steps.length]))).toEqual([
    [['', 2]],
    [
      ['disk', 2],
      ['cluster', 1],
    ],
    [['', 2]],
    [['', 2]],
  ]);
  expect(railSteps(rail).map(({ work }) => work)).toEqual([
    ...['prepare', 'prepare', 'write', 'build', 'wait', 'prepare', 'prepare', 'boot', 'boot'],
  ]);
  expect(tracksOf(rail).get('image/write')).toBe('disk');
});

it('is drawn with a cell for each step that is not left out, and listed as text', () => {
  const host: HostState = {
    id: 'h',
    name: 'm1',
    role: 'bootstrap',
    rail,
    spans: [],
    stage: '',
    stageInfo: '',
    status: '',
    phase: '',
    hardware: '',
    steps: {
      'disk/lock': { title: '', state: 'done', since: 0, until: 4000, attempt: 1 },
      'image/write': { title: '', state: 'running', since: 4000, attempt: 1, percent: 50 },
      'cluster/follow': { title: 'FOLLOW', state: 'running', since: 4000, attempt: 1 },
    },
  };
  const picture = railPicture(host, 'm1').text;
  expect(picture.match(/class="cell /g)).toHaveLength(8);
  expect(picture).toContain('class="part"');
  expect(picture).toContain('DISK/LOCK (disk/lock), done in 4 s');
  const list = stepList(host).text;
  expect(list.match(/<li/g)).toHaveLength(9);
  expect(list).toContain('FOLLOW <small>in the background</small>');
  expect(list).toMatch(/class="is-todo">\s*<span>Done/);
  expect(stageStep('Done')).toBe(railSteps(rail).at(-1)?.id);
});
