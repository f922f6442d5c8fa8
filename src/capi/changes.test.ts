import { describe, expect, it } from 'vitest';
import type { ApiCondition, BootstrapConfigStatus } from './api.ts';
import { changeLines, clusterEnd, type ClusterObjects, failureLines } from './cluster-objects.ts';

const at = (second: number): string => `2026-11-27T06:00:${String(second).padStart(2, '0')}Z`;
const condition = (
  ...[type, status, reason, message = '', second = 0]: readonly [
    string,
    ApiCondition['status'],
    string,
    string?,
    number?,
  ]
): ApiCondition => ({ type, status, reason, message, lastTransitionTime: at(second) });

const host = (name: string, attempt: number, ...conditions: readonly ApiCondition[]) => {
  const progress = { stage: 'x', attempt, stageStartedAt: at(0), updatedAt: at(0) };
  const status: BootstrapConfigStatus = { role: 'master', progress, conditions };
  const owner = { apiVersion: 'v', kind: 'Machine', name: `machine-${name}`, uid: 'u' };
  return { metadata: { name, uid: `uid-${name}`, ownerReferences: [owner] }, status };
};
const objects = (
  conditions: readonly ApiCondition[],
  ...configs: readonly ReturnType<typeof host>[]
): ClusterObjects =>
  ({
    cluster: { metadata: { name: 'demo', namespace: 'demo', uid: 'cluster' } },
    controlPlane: { metadata: { name: 'demo', uid: 'plane' }, status: { conditions } },
    configs,
  }) as unknown as ClusterObjects;

const writing = (percent: number): ApiCondition =>
  condition('Ready', 'False', 'WritingImageToDisk', `Writing image to disk ${percent}%`);
const why = 'Writing image to disk: image.write-failed: no space — free some';
const failed = condition('Ready', 'False', 'InstallationFailed', why);
const installing = condition('Available', 'False', 'Installing', 'm0: 40%');

describe('R43: the lines of a change', () => {
  it('begin with what has been reached, in the order in which it was', () => {
    const lines = changeLines(
      undefined,
      objects(
        [
          condition('AssetsGenerated', 'True', 'Generated', '', 9),
          { ...installing, lastTransitionTime: at(3) },
          condition('InstallStateValid', 'True', 'Valid', '', 2),
          condition('KubeconfigAvailable', 'False', 'WaitingForAPI', '', 1),
          condition('Paused', 'False', 'NotPaused', '', 1),
        ],
        host('m0', 1, { ...writing(4), lastTransitionTime: at(10) }),
      ),
    );
    expect(lines).toEqual([
      'control plane demo: InstallStateValid True Valid',
      'control plane demo: Available False Installing: m0: 40%',
      'control plane demo: AssetsGenerated True Generated',
      'host machine-m0 (master): Writing image to disk 4%',
    ]);
  });

  it.each<[string, ClusterObjects, readonly string[]]>([
    ['a percentage', objects([installing], host('m0', 1, writing(61))), []],
    [
      'another stage',
      objects([installing], host('m0', 1, condition('Ready', 'False', 'Rebooting', 'Rebooting'))),
      ['host machine-m0 (master): Rebooting'],
    ],
    [
      'the end of a host',
      objects([installing], host('m0', 1, condition('Ready', 'True', 'Installed'))),
      ['host machine-m0 (master): Installed'],
    ],
    [
      'the same stage of another attempt',
      objects([installing], host('m0', 2, writing(1))),
      ['host machine-m0 (master): Writing image to disk 1%'],
    ],
    [
      'a pause',
      objects([installing], host('m0', 1, writing(4), condition('Paused', 'True', 'Paused'))),
      ['host machine-m0 (master): Paused'],
    ],
    [
      'a condition that is bad again',
      objects([condition('Available', 'False', 'APIUnreachable', 'no'), installing]),
      [
        expect.stringMatching(
          /^failed: control plane demo: .*APIUnreachable: no; next: ./,
        ) as string,
      ],
    ],
  ])('%s', (_, after, lines) => {
    const before = objects([installing], host('m0', 1, writing(4)));
    expect(changeLines(before, after)).toEqual(lines);
  });

  it('say host, stage, why and what to do of a failure, once for each reason', () => {
    const before = objects([installing], host('m0', 1, writing(4)));
    const now = objects([installing], host('m0', 1, failed));
    const [line = '', ...more] = changeLines(before, now);
    expect(more).toEqual([]);
    expect(line).toMatch(/^failed: host machine-m0 \(master\): /);
    expect(line).toContain(why);
    expect(line).toMatch(/; next: \w/);
    expect(changeLines(now, now)).toEqual([]);
    const other = { ...failed, message: 'Installing: other' };
    expect(changeLines(now, objects([installing], host('m0', 1, other)))).toHaveLength(1);
    expect(failureLines(now)).toEqual([line]);
    expect(failureLines(before)).toEqual([]);
  });

  it('steer no terminal', () => {
    const lines = changeLines(
      undefined,
      objects([], host('m0', 1, { ...failed, message: 'a\u001b[2J\nb' })),
    );
    for (const sign of ['\u001b', '\n']) expect(lines.join('')).not.toContain(sign);
  });
});

describe('the end of a watch', () => {
  const good = condition('Installed', 'True', 'Installed');
  const done = host('m0', 1, condition('Ready', 'True', 'Installed'));
  const first = objects([installing], host('m0', 1, writing(4)));
  const gone = { ...first, cluster: undefined };
  const other = { ...objects([good], done), cluster: { metadata: { name: 'demo', uid: 'other' } } };
  const deleting = { name: 'demo', uid: 'cluster', deletionTimestamp: at(1) };

  it.each<[string, ClusterObjects | undefined, ClusterObjects, string | undefined]>([
    ['a cluster that is installed', first, objects([good], done), 'installed'],
    ['one that was installed before', undefined, objects([good], done), 'installed'],
    ['a host that is not done', first, objects([good], done, host('w', 1, writing(1))), undefined],
    ['an API that does not answer', first, objects([installing], done), undefined],
    ['a host that failed', first, objects([installing], host('m0', 1, failed)), undefined],
    ['no Cluster of the name', undefined, gone, 'not-found'],
    ['a Cluster that is gone', first, gone, 'deleted'],
    ['another one of its name', first, other, 'deleted'],
    [
      'one that is being deleted',
      first,
      { ...objects([good], done), cluster: { metadata: deleting } },
      undefined,
    ],
  ])('%s', (...[, before, now, end]) => {
    expect(clusterEnd(before, now)).toBe(end);
  });
});
