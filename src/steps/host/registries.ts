import { dirname } from 'node:path/posix';
import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';
import { mergeConfigs } from '../../ignition/merge.ts';
import { embeddedFile } from '../../ignition/resource.ts';
import type { Config as IgnitionConfig } from '../../ignition/types.ts';
import { authorityProblem, certificateBundle } from '../../lib/certificates.ts';
import { mirrorsPath, renderMirrors } from '../../settings/image-mirrors.ts';
import { minutes } from '../../model/duration.ts';
import { readTextOr } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { badAuthorities } from './failures.ts';

/**
 * Path of the authorities on a live and an installed host; CoreOS adds the anchors to its store at
 * its first boot (`coreos-update-ca-trust.service`).
 */
const anchorPath = '/etc/pki/ca-trust/source/anchors/bootwright-registries.crt';

const trusts = condition<Config>('registries.ca is set', ({ registries }) => registries.ca !== '');

const isSet = condition<Config>(
  'registries.mirrors or registries.ca is set',
  ({ registries: { mirrors, ca } }) => mirrors.length > 0 || ca !== '',
);

type RegistriesScope = Pick<StepScope<'host' | 'clock'>, 'host' | 'clock' | 'config' | 'signal'>;

/** @throws AgentError `registries.bad-ca` */
async function readAuthorities({ host, clock, config, signal }: RegistriesScope): Promise<string> {
  const { ca } = config.registries;
  const text = await readTextOr({ host, signal }, ca, (path) =>
    badAuthorities(path, 'is not on the host'),
  );
  const problem = authorityProblem(text, clock.now());
  if (problem !== undefined) throw badAuthorities(ca, problem);
  return certificateBundle(text);
}

/** Checks the authorities before any change. */
export const checkRegistries = step({
  id: 'host/check-registries',
  title: 'Check the certificate authorities of registries',
  uses: ['host', 'clock'],
  when: trusts,
  effect: 'reads',
  limit: minutes(5),
  run: async (scope) => {
    await readAuthorities(scope);
  },
});

/** Path and text of each registry settings file of a host. */
async function filesOf(scope: RegistriesScope): Promise<readonly (readonly [string, string])[]> {
  const { mirrors, ca } = scope.config.registries;
  return [
    ...(mirrors.length === 0 ? [] : [[mirrorsPath, renderMirrors(mirrors)] as const]),
    ...(ca === '' ? [] : [[anchorPath, await readAuthorities(scope)] as const]),
  ];
}

const makeFoldersArgv = ['mkdir', '-p', dirname(mirrorsPath), dirname(anchorPath)] as const;
const updateTrustArgv = ['update-ca-trust'] as const;

/**
 * Writes mirrors and authorities for all pulls on the live host: podman, skopeo, rpm-ostree, bootc
 * and CRI-O read them.
 */
export const configureRegistries = step({
  id: 'host/configure-registries',
  title: 'Configure mirrors and certificate authorities of registries',
  uses: ['host', 'clock'],
  when: isSet,
  limit: minutes(5),
  explain: ({ registries: { mirrors, ca } }) =>
    [...mirrors.map(({ source }) => source), ...(ca === '' ? [] : [ca])].join(', '),
  preview: ({ registries: { ca } }) => [makeFoldersArgv, ...(ca === '' ? [] : [updateTrustArgv])],
  run: async (scope) => {
    const { host, config, signal } = scope;
    const files = await filesOf(scope);
    await host.exec(makeFoldersArgv, { signal, limit: minutes(2) });
    for (const [path, text] of files) await host.writeFile(path, text, { signal, mode: 0o644 });
    if (config.registries.ca !== '')
      await host.exec(updateTrustArgv, { signal, limit: minutes(2) });
  },
});

/**
 * The Ignition config of an installed host with mirrors and authorities, as JSON; undefined if none
 * are set, so that its bytes stay unchanged. A file of the config at the same path wins.
 * @throws AgentError `registries.bad-ca`, `ignition.merge-invalid`, `ignition.version-unsupported`
 */
export async function withRegistries(
  scope: RegistriesScope,
  config: IgnitionConfig,
): Promise<string | undefined> {
  const files = await filesOf(scope);
  if (files.length === 0) return undefined;
  const ours: IgnitionConfig = {
    ignition: { version: '3.0.0' },
    storage: { files: files.map(([path, text]) => embeddedFile(path, text, 0o644)) },
  };
  return JSON.stringify(mergeConfigs(ours, config));
}
