import { describe, expect, it } from 'vitest';
import { valuesIn } from '../../test/support/layer-values.ts';
import { flagRows } from './flag-table.ts';
import { asksHelp, readFlags } from './flags.ts';

const values = (line: string) => valuesIn(readFlags(line.split(' ')).layer);

describe('readFlags', () => {
  it('reads the command line of the discovery agent for a day-1 worker', () => {
    const line =
      '--role worker --infra-env-id i --cluster-id c --host-id h --boot-device /dev/disk/by-id/x ' +
      '--url https://s:6008 --controller-image ci --agent-image ai --control-plane-count 3 ' +
      '--mco-image m --must-gather-image g --openshift-version 4.16.2 --format-disk /dev/a ' +
      '--format-disk /dev/b --insecure --check-cluster-version --skip-installation-disk-cleanup ' +
      '--cacert /ca.pem --installer-args ["--append-karg","ip=eth0:dhcp"] ' +
      '--enable-skip-mco-reboot --notify-num-reboots --http-proxy http://p:1 ' +
      '--https-proxy http://p:2 --no-proxy .svc,localhost --service-ips 10.0.0.1,10.0.0.2 ' +
      '--coreos-image os';
    expect(values(line)).toEqual({
      role: 'worker',
      'cluster.infraEnvId': 'i',
      'cluster.id': 'c',
      'cluster.hostId': 'h',
      'disk.device': '/dev/disk/by-id/x',
      'service.url': 'https://s:6008',
      'images.controller': 'ci',
      'images.agent': 'ai',
      'cluster.controlPlaneCount': 3,
      'images.mco': 'm',
      'images.mustGather': 'g',
      'cluster.openshiftVersion': '4.16.2',
      'disk.format': ['/dev/a', '/dev/b'],
      'service.insecure': true,
      'controller.checkClusterVersion': true,
      'disk.cleanup': false,
      'service.caFile': '/ca.pem',
      'image.writerArgs': ['--append-karg', 'ip=eth0:dhcp'],
      'image.skipMcoReboot': true,
      'controller.notifyNumReboots': true,
      'proxy.http': 'http://p:1',
      'proxy.https': 'http://p:2',
      'proxy.no': '.svc,localhost',
      'controller.serviceIps': ['10.0.0.1', '10.0.0.2'],
      'image.existingRoot': 'os',
    });
  });

  it.each([
    ['-r', '-r worker', { role: 'worker' }],
    ['the last of two roles', '-r worker --role=master', { role: 'master' }],
    [
      'a negated flag set to false',
      '--skip-installation-disk-cleanup=false',
      { 'disk.cleanup': true },
    ],
    ['a disabled dry run', '--dry-run=false --force-id x', {}],
    ['a setting by its key', '--image.url http://h/i', { 'image.url': 'http://h/i' }],
    [
      'a repeated list setting',
      '--disk.format a,b --disk.format c',
      { 'disk.format': ['a,b', 'c'] },
    ],
    ['a boolean setting without a value', '--image.skipMcoReboot', { 'image.skipMcoReboot': true }],
  ])('reads %s', (_, line, expected) => {
    expect(values(line)).toEqual(expected);
  });

  it('records the flag as the origin', () => {
    expect(readFlags(['-r', 'worker']).layer.get('role')?.origin).toBe('flag -r');
    expect(readFlags(['-url=http://h']).layer.get('service.url')?.origin).toBe('flag --url');
  });

  it('notes the arguments behind the last flag', () => {
    const { notes } = readFlags(['--role', 'worker', '--insecure', 'false', 'x']);
    expect(notes).toEqual(['unexpected arguments: false x']);
  });

  it('notes that options of a dry run have no effect, and refuses --dry-run', () => {
    const { notes } = readFlags(['--fake-reboot-marker-path', '/m']);
    expect(notes).toEqual(['flag --fake-reboot-marker-path has no effect: there is no dry run']);
    expect(() => readFlags(['--dry-run'])).toThrow(
      'flag --dry-run: there is no dry run; this host would be installed',
    );
  });

  it.each([
    ['host.reach', 'bootwright plan'],
    ['metrics', '--status HOST:PORT'],
    ['log.metrics', '--status HOST:PORT'],
  ])('names the replacement of the removed --%s', (name, instead) => {
    expect(() => readFlags([`--${name}`, 'x'])).toThrow(
      expect.objectContaining({
        message: `flag --${name} was removed`,
        hint: expect.stringContaining(instead) as string,
      }),
    );
  });

  it('reads the options of the command itself', () => {
    expect(readFlags(['--config', 'a', '--config=b', '--fresh', '--version'])).toMatchObject({
      configFiles: ['a', 'b'],
      isFresh: true,
      asksVersion: true,
    });
  });

  it.each([
    ['a misspelled flag', '--boot-devise x', 'cli.unknown-flag', '--boot-device'],
    ['an unknown flag without a similar one', '--zzzzzz', 'cli.unknown-flag', ''],
    ['a misspelled setting', '--disk.devise x', 'cli.unknown-flag', '--disk.device'],
    ['a missing value', '--url', 'cli.bad-flag', '--url'],
    ['a boolean flag with an invalid value', '--fresh=x', 'cli.bad-flag', ''],
    ['flags that are not read', '--insecure true --disk.keep data', 'cli.bad-flag', '"="'],
    ['such flags behind an address', 'http://u:hidden@h -r worker', 'cli.bad-flag', ''],
    [
      'a secret on the command line',
      '--service.token hidden',
      'config.inline-secret',
      '--service.tokenFile',
    ],
  ])('refuses %s', (...[, line, code, hint]) => {
    expect(() => readFlags(line.split(' '))).toThrow(
      expect.objectContaining({
        code,
        kind: 'input',
        hint: expect.stringContaining(hint) as string,
        message: expect.not.stringContaining('hidden') as string,
      }),
    );
  });
});

it('flagRows has every current and earlier flag of assisted-installer', () => {
  const known =
    'role r cluster-id infra-env-id host-id boot-device url openshift-version mco-image ' +
    'controller-image agent-image verbose insecure cacert http-proxy https-proxy no-proxy ' +
    'service-ips control-plane-count check-cluster-version must-gather-image format-disk ' +
    'skip-installation-disk-cleanup enable-skip-mco-reboot notify-num-reboots coreos-image ' +
    'installer-args dry-run force-id fake-reboot-marker-path dry-run-cluster-hosts-path ' +
    's3-endpoint s3-bucket host port host-name installation-timeout high-availability-mode';
  const ours = ['events', 'status'];
  expect(Object.keys(flagRows).sort()).toEqual([...known.split(' '), ...ours].sort());
});

describe('asksHelp', () => {
  it.each([
    '-h',
    '--h',
    '--help',
    '-help',
    '--help=true',
    '-h=1',
    '-r worker -h',
    '--bogus -h',
    '--verbose --help',
    '--role=worker -h',
    '--boot-device -h -h',
  ])('is true for "%s"', (line) => {
    expect(asksHelp(line.split(' '))).toBe(true);
  });

  it.each([
    '',
    '-r worker',
    '--help=false',
    '-h=x',
    '--boot-device -h',
    '-- -h',
    'word -h',
    '---h',
  ])('is false for "%s"', (line) => {
    expect(asksHelp(line.split(' '))).toBe(false);
  });
});
