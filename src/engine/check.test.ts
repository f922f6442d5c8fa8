import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { condition, not } from './condition.ts';
import { checkRole } from './check.ts';
import { fact, ifGiven } from './fact.ts';
import { lanes, type Role } from './role.ts';
import { stepsOf } from './step.ts';

interface ToyConfig {
  readonly isSmall: boolean;
}
interface Toy {
  readonly config: ToyConfig;
  readonly ports: Readonly<Record<string, never>>;
}
const step = stepsOf<Toy>();
type ToyRole = Role<Toy>;

const Disk = fact('toy.disk', z.string());
const Image = fact('toy.image', z.string());
const isSmall = condition<ToyConfig>('the toy is small', (config) => config.isSmall);

const base = { title: 'Do something', uses: [], limit: 1000 } as const;
const inspect = step({ ...base, id: 'disk/look', preflight: true, run: () => Promise.resolve() });
const givesDisk = step({ ...base, id: 'disk/find', gives: Disk, run: () => Promise.resolve('d') });
const needsDisk = step({
  ...base,
  id: 'disk/use',
  needs: { disk: Disk },
  run: () => Promise.resolve(),
});
const mayNeedDisk = step({
  ...base,
  id: 'disk/may-use',
  needs: { disk: ifGiven(Disk) },
  run: () => Promise.resolve(),
});
const wipes = step({ ...base, id: 'disk/wipe', destroys: true, run: () => Promise.resolve() });
const fetches = step({ ...base, id: 'input/fetch', fetches: true, run: () => Promise.resolve() });
const givesImage = step({
  ...base,
  id: 'image/find',
  gives: Image,
  run: () => Promise.resolve('i'),
});
const writes = step({
  ...base,
  id: 'image/write',
  needs: { image: Image },
  destroys: true,
  run: () => Promise.resolve(),
});
const reboots = step({ ...base, id: 'host/reboot', leaves: true, run: () => Promise.resolve() });

const toy = (parts: Partial<ToyRole>): ToyRole => ({
  name: 'toy',
  title: 'A toy',
  ladder: 'master',
  steps: [],
  ...parts,
});

const broken: readonly (readonly [string, ToyRole, string])[] = [
  ['an id that stands twice', toy({ steps: [inspect, inspect] }), 'disk/look'],
  ['an id without an area', toy({ steps: [{ ...inspect, id: 'look' }] }), 'look'],
  ['a need that nothing gives', toy({ steps: [needsDisk] }), 'disk/use'],
  ['a need that is given later', toy({ steps: [needsDisk, givesDisk] }), 'disk/use'],
  [
    'a fact that is given twice',
    toy({ steps: [givesDisk, { ...givesDisk, id: 'disk/again' }] }),
    'disk/again',
  ],
  [
    'a need that is given only in one of two cases',
    toy({ steps: [{ ...givesDisk, when: isSmall }, needsDisk] }),
    'disk/use',
  ],
  [
    'an optional need that is given later',
    toy({ steps: [mayNeedDisk, givesDisk] }),
    'disk/may-use',
  ],
  [
    'an optional need that is given in another lane',
    toy({ steps: [lanes({ a: [givesDisk], b: [mayNeedDisk] })] }),
    'disk/may-use',
  ],
  [
    'a stage that is not of the ladder',
    toy({ steps: [{ ...inspect, stage: 'Waiting for bootkube' }] }),
    'disk/look',
  ],
  [
    'a stage lower than the one before',
    toy({
      steps: [
        { ...inspect, stage: 'Rebooting' },
        { ...givesDisk, stage: 'Installing' },
      ],
    }),
    'disk/find',
  ],
  ['a preflight step after one that destroys', toy({ steps: [wipes, inspect] }), 'disk/look'],
  ['an input that is fetched after a loss', toy({ steps: [wipes, fetches] }), 'input/fetch'],
  [
    'an input that is fetched beside a loss',
    toy({ steps: [lanes({ a: [fetches], b: [wipes] })] }),
    'input/fetch',
  ],
  ['an input that destroys', toy({ steps: [{ ...fetches, destroys: true }] }), 'input/fetch'],
  [
    'a need of a step that destroys, known after a loss',
    toy({ steps: [wipes, givesImage, writes] }),
    'image/find',
  ],
  [
    'the same beside a loss',
    toy({ steps: [lanes({ a: [wipes], b: [givesImage] }), writes] }),
    'image/find',
  ],
  [
    'the same behind something that was known before',
    toy({ steps: [givesDisk, wipes, { ...givesImage, needs: { disk: Disk } }, writes] }),
    'image/find',
  ],
  ['a preflight step that destroys', toy({ steps: [{ ...wipes, preflight: true }] }), 'disk/wipe'],
  ['a probe that is missing', toy({ steps: [{ ...inspect, rerun: 'probe' }] }), 'disk/look'],
  [
    'a look until a step before it',
    toy({ steps: [wipes, { ...givesDisk, freshUntil: 'disk/wipe' }] }),
    'disk/find',
  ],
  ['a look until no step', toy({ steps: [{ ...inspect, freshUntil: 'disk/x' }] }), 'disk/look'],
  ['a step after the one that leaves', toy({ steps: [reboots, inspect] }), 'host/reboot'],
  ['leaving from aside', toy({ always: [reboots] }), 'host/reboot'],
  ['a fact given from aside', toy({ follow: [givesDisk] }), 'disk/find'],
  ['a need aside that nothing gives', toy({ follow: [needsDisk] }), 'disk/use'],
  [
    'a need of a step that an open question may leave in',
    toy({ steps: [{ ...needsDisk, when: not(isSmall, 'the toy is large') }] }),
    'disk/use',
  ],
  [
    'two lanes that touch one thing',
    toy({
      steps: [
        lanes({
          one: [{ ...inspect, touches: ['disk:install'] }],
          two: [{ ...givesDisk, touches: ['disk:install'] }],
        }),
      ],
    }),
    'disk/find',
  ],
  [
    'lanes that wait for each other',
    toy({
      steps: [
        lanes({
          one: [
            step({ ...base, id: 'a/one', needs: { image: Image }, run: () => Promise.resolve() }),
            givesDisk,
          ],
          two: [
            needsDisk,
            step({ ...base, id: 'b/two', gives: Image, run: () => Promise.resolve('i') }),
          ],
        }),
      ],
    }),
    'a/one',
  ],
];

describe('checkRole refuses', () => {
  it.each(broken)('%s', (_, role, culprit) => {
    let caught: unknown;
    try {
      checkRole(role);
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({ code: 'role.broken', context: { step: culprit } });
  });
});

describe('checkRole accepts', () => {
  const sound: readonly (readonly [string, ToyRole])[] = [
    ['a need given by an earlier step', toy({ steps: [givesDisk, needsDisk] })],
    [
      'a need given by another lane',
      toy({ steps: [lanes({ one: [needsDisk], two: [givesDisk] })] }),
    ],
    [
      'one fact given by either of two exclusive steps',
      toy({
        steps: [
          { ...givesDisk, when: isSmall },
          { ...givesDisk, id: 'disk/other', when: not(isSmall, 'the toy is large') },
          needsDisk,
        ],
      }),
    ],
    ['inputs before a loss', toy({ steps: [fetches, givesImage, wipes, writes] })],
    [
      'an input in another lane, for which the loss waits',
      toy({ steps: [lanes({ a: [writes], b: [fetches, givesImage] })] }),
    ],
    [
      'what cannot be known before',
      toy({ steps: [wipes, { ...givesImage, knownLate: 'it is rendered then' }, writes] }),
    ],
    [
      'what follows from something that cannot be known before',
      toy({
        steps: [
          wipes,
          { ...givesDisk, knownLate: 'it is made then' },
          { ...givesImage, needs: { disk: Disk } },
          writes,
        ],
      }),
    ],
    [
      'what follows from a step that destroys',
      toy({
        steps: [{ ...givesDisk, destroys: true }, { ...givesImage, needs: { disk: Disk } }, writes],
      }),
    ],
    ['looking, destroying, leaving, in this order', toy({ steps: [inspect, wipes, reboots] })],
  ];
  it.each(sound)('%s', (_, role) => {
    expect(checkRole(role)).toBe(role);
  });
});
