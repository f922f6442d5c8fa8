import { expect, it } from 'vitest';
import { podIn } from './controller.ts';

const uid = 'a1b2c3d4-0000-4000-8000-0123456789ab';
const log = `/var/lib/kubelet/pods/${uid}/containers/controller/1f2e /dev/termination-log rw - xfs /dev/sda4 rw`;

it.each([
  ['in a pod', `1 2 0:1 / / rw - overlay overlay rw\n901 880 8:4 ${log}\n`, uid],
  ['outside of a pod', '1 2 0:1 / / rw - overlay overlay rw\n', undefined],
  [
    'on a node with mounted volumes of pods',
    `70 3 0:60 / /var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~projected/token rw - tmpfs tmpfs rw\n`,
    undefined,
  ],
  [
    'with a mounted folder named pods',
    '5 1 8:1 /srv/pods/backup/x /srv rw - xfs /dev/sda rw\n',
    undefined,
  ],
])('podIn finds the pod of a process %s', (_, mountInfo, expected) => {
  expect(podIn(mountInfo)).toBe(expected);
});
