import { describe, expect, it } from 'vitest';
import {
  type ImageContent,
  insideReader,
  inspectionContainerfile,
  requireBootable,
  readImageFacts,
  requireStream,
} from './verify-image.ts';

const rendered = `rendered-master-${'0'.repeat(32)}`;
const expected = {
  image: 'x',
  rendered,
  pool: 'master',
  architecture: 'amd64',
};
const labels = { machineconfig: rendered, machineconfigpool: 'master', 'ostree.bootable': 'true' };
const inside: ImageContent = {
  kernels: ['6.1'],
  withoutInitramfs: [],
  configs: [rendered],
  isWhole: true,
};

const check =
  (facts = {}, seen: Partial<ImageContent> = {}) =>
  (): void =>
    requireBootable(expected, { architecture: 'amd64', labels, ...facts }, { ...inside, ...seen });

describe('requireBootable', () => {
  it('accepts a bootable image, also when only the bootc label marks it', () => {
    expect(check()).not.toThrow();
    expect(
      check({ labels: { ...labels, 'ostree.bootable': '', 'containers.bootc': '1' } }),
    ).not.toThrow();
  });

  it.each([
    ['layering.image-label-missing', { labels: { ...labels, machineconfig: 'other' } }, {}],
    ['layering.image-label-missing', { labels: { machineconfig: rendered } }, {}],
    ['layering.image-not-bootable', { labels: { ...labels, 'ostree.bootable': '' } }, {}],
    ['layering.image-architecture', { architecture: 's390x' }, {}],
    ['layering.image-unreadable', {}, { isWhole: false }],
    ['layering.image-kernels', {}, { kernels: [] }],
    ['layering.image-kernels', {}, { kernels: ['6.1', '6.2'] }],
    ['layering.image-initramfs', {}, { withoutInitramfs: ['6.1'] }],
    ['layering.image-wrong-config', {}, { configs: [] }],
    ['layering.image-wrong-config', {}, { configs: ['rendered-worker-1'] }],
  ])('fails with %s for %j, %j', (code, facts, seen) => {
    expect(check(facts, seen)).toThrow(expect.objectContaining({ code }) as Error);
  });
});

it('requireStream refuses a base of another OS stream or without a stream', () => {
  const key = 'io.openshift.os.streamclass';
  const require = (labels: Readonly<Record<string, string>>) => (): void =>
    requireStream('infra', 'rhel-10', 'quay.io/os@sha256:1', labels);
  expect(require({ [key]: 'rhel-10' })).not.toThrow();
  expect(require({ [key]: 'rhel-9' })).toThrow(
    'pool infra asks for OS stream rhel-10, and quay.io/os@sha256:1 of its rendered MachineConfig is of stream rhel-9',
  );
  expect(require({})).toThrow(/^pool infra asks .* names no stream$/);
});

describe('readImageFacts', () => {
  it('reads the architecture and labels from the image configuration', () => {
    const text = JSON.stringify({ architecture: 'arm64', config: { Labels: { a: 'b' } } });
    expect(readImageFacts(text, 'x')).toEqual({ architecture: 'arm64', labels: { a: 'b' } });
    expect(readImageFacts('{"config":null}', 'x')).toEqual({ architecture: '', labels: {} });
  });

  it('refuses a configuration that is not JSON', () => {
    const unreadable = expect.objectContaining({ code: 'layering.image-unreadable' }) as Error;
    expect(() => readImageFacts('no JSON', 'x')).toThrow(unreadable);
  });
});

it('insideReader keeps the last twelve lines of bootc lint', () => {
  const reader = insideReader();
  reader.line('bootwright-saw lint failed');
  for (let line = 1; line < 20; line += 1) reader.line(`bootwright-saw lint-says fault ${line}`);
  expect(reader.seen().lint).toMatch(/^fault 8\n[^]*\nfault 19$/);
});

it('insideReader reads the output of the inspection build', () => {
  const reader = insideReader();
  const output = [
    'STEP 2/2: RUN …',
    'bootwright-saw kernel 6.1',
    `bootwright-saw config ${rendered}`,
  ];
  output.forEach(reader.line);
  expect(reader.seen()).toEqual({ ...inside, isWhole: false });
  reader.line('bootwright-saw end');
  expect(reader.seen()).toEqual(inside);
  reader.line('bootwright-saw no-initramfs 6.1');
  expect(reader.seen().withoutInitramfs).toEqual(['6.1']);
  expect(inspectionContainerfile('localhost/x:1')).toMatch(/^FROM localhost\/x:1\nRUN /);
});
