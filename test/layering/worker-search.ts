import { fakeClock } from '../support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../support/fake-host.ts';
import { workerCase, workerPointer } from './worker.ts';

/** A worker, and a registry with the image of its pool for an architecture. */
export const searchingHost = (architecture = 'amd64'): FakeHost =>
  fakeHost()
    .withFile(workerCase.ignition, workerPointer)
    .on(['install', rest])
    .succeeds()
    .on(['skopeo', 'inspect', '--no-tags', rest])
    .prints(workerCase.digest)
    .on(['skopeo', 'inspect', '--config', rest])
    .prints(JSON.stringify({ architecture, config: { Labels: {} } }))
    .on(['uname', '-m'])
    .prints('x86_64');

/** Inputs of the search for the image, beside its host and the network. */
export const searchRun = () => ({
  clock: fakeClock(),
  facts: {
    ignition: { path: workerCase.ignition, bytes: 1, sha256: '', origin: '', version: '3.2.0' },
    written: { disk: '/dev/sda' },
  },
});
