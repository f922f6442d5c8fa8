import { isIP } from 'node:net';
import { proxyFor } from '../../adapters/http/connection.ts';
import type { Config } from '../../config/schema.ts';
import { asAgentError } from '../../engine/failures.ts';
import { registryConfigArgv } from '../../layering/build/container-tools.ts';
import { revealedProxies } from '../../lib/proxies.ts';
import type { SecretUrl } from '../../lib/secret-url.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { seconds } from '../../model/duration.ts';
import { mainLine } from '../../engine/role.ts';
import { chooseRole } from '../../roles/choose.ts';
import {
  chooseBootstrapSource,
  fetchIgnition,
  readBootstrapIgnition,
} from '../../steps/bootstrap/fetch-ignition.ts';
import { readHostIgnition, type ValidIgnition } from '../../steps/ignition/fetch-host.ts';
import { withRegistries } from '../../steps/host/registries.ts';
import { chooseSource } from '../../steps/ignition/sources.ts';
import { type CheckAnswer, type Check, type NetworkScope, ok, warning } from './check.ts';

/** Checks of the servers that an install with this configuration reaches by itself. */
export function networkChecks(config: Config): readonly Check<NetworkScope>[] {
  return [
    ...namesToResolve(config).map(nameCheck),
    ...(config.service.url.isEmpty || config.cluster.id === '' ? [] : [serviceCheck]),
    ...ignitionChecks(config),
    ...imagesOf(config).map(imageCheck),
  ];
}

const urlsOf = ({ service, image, ignition, s3 }: Config): readonly SecretUrl[] =>
  [service.url, image.url, image.stream, ignition.url, s3.endpoint].filter(
    ({ isEmpty }) => !isEmpty,
  );

const urlIn = (text: SecretUrl): URL | undefined => URL.parse(text.reveal()) ?? undefined;

const proxyOf = (url: URL, { proxy }: Config): string | undefined => {
  const found = proxyFor(url, revealedProxies(proxy));
  return found === undefined || found === '' ? undefined : found;
};

/** The names that this host resolves itself, including the name of a proxy. */
export function namesToResolve(config: Config): readonly string[] {
  const names = urlsOf(config).flatMap((text) => {
    const url = urlIn(text);
    if (url === undefined) return [];
    const proxy = proxyOf(url, config);
    const name = proxy === undefined ? url.hostname : URL.parse(proxy)?.hostname;
    return name === undefined || isIP(name.replace(/^\[|\]$/g, '')) !== 0 ? [] : [name];
  });
  return [...new Set(names)];
}

const nameCheck = (name: string): Check => ({
  name: `name ${name}`,
  ask: async ({ host, signal }) => {
    const argv = ['getent', 'ahosts', name];
    const result = await host.exec(argv, { signal, limit: seconds(15), accept: [0, 2] });
    const addresses = result.stdout.split('\n').flatMap((line) => line.split(/\s+/)[0] ?? []);
    if (result.exitCode === 0) return ok([...new Set(addresses)].join(', '));
    return {
      state: 'failed',
      says: 'does not resolve on this host',
      hint: 'check the name, /etc/resolv.conf and its servers',
    };
  },
});

const serviceCheck: Check = {
  name: 'service',
  ask: async ({ inventory, config, signal }): Promise<CheckAnswer> => {
    const { id, kind } = await inventory.cluster(signal);
    const url = urlIn(config.service.url);
    const proxy = url === undefined ? undefined : proxyOf(url, config);
    const way = proxy === undefined ? '' : `, through ${shownUrl(proxy)}`;
    return ok(`knows the ${kind.toLowerCase()} ${id}${way}`);
  },
};

/**
 * Checks of this host's Ignition, and of bootstrap.ign on a host that starts a cluster. Without a
 * source, the settings already report it.
 */
function ignitionChecks(config: Config): readonly Check<NetworkScope>[] {
  const isFirst = mainLine(chooseRole(config)).some(({ step }) => step === fetchIgnition);
  return [
    ...ignitionCheck('Ignition', readMerged, () => chooseSource(config).because),
    ...(isFirst
      ? ignitionCheck(
          'bootstrap.ign',
          readBootstrapIgnition,
          () => chooseBootstrapSource(config).place,
        )
      : []),
  ];
}

/**
 * An install saves the Ignition together with the registries of the settings. The served Ignition
 * may leave no room for them.
 */
async function readMerged(scope: NetworkScope): Promise<ValidIgnition> {
  const found = await readHostIgnition(scope);
  await withRegistries(scope, found.config);
  return found;
}

function ignitionCheck(
  name: string,
  read: (scope: NetworkScope) => Promise<ValidIgnition>,
  placeOf: () => string,
): readonly Check<NetworkScope>[] {
  let place: string;
  try {
    place = placeOf();
  } catch {
    return [];
  }
  const ask = async (scope: NetworkScope): Promise<CheckAnswer> => {
    try {
      const { config } = await read(scope);
      return ok(`spec ${config.ignition.version} from ${place}`);
    } catch (thrown) {
      scope.signal.throwIfAborted();
      const { code, message } = asAgentError(thrown);
      if (code !== 'inventory.not-ready' && code !== 'inventory.refused') throw thrown;
      return warning(`not yet: ${message}`, 'the service has it once the installation has begun');
    }
  };
  return [{ name, ask }];
}

/** The images that the commands of a role pull, if they are configured. */
const imagesOf = ({ role, images, image }: Config): readonly string[] => [
  ...new Set(
    [
      ...(role === 'bootstrap' ? [images.mco, images.controller] : []),
      ...[image.nodeImage, image.existingRoot],
    ].filter((name) => name !== ''),
  ),
];

const imageCheck = (image: string): Check => ({
  name: `image ${image}`,
  ask: async ({ host, signal }) => {
    try {
      await host.exec(registryConfigArgv({ image }), { signal, limit: seconds(15) });
      return ok('can be pulled');
    } catch (thrown) {
      signal.throwIfAborted();
      const { message } = asAgentError(thrown);
      // The pull secret of the cluster arrives only with the bootstrap Ignition.
      if (!/unauthorized|authentication required/i.test(message)) throw thrown;
      return warning('the registry needs credentials, which the Ignition config contains', message);
    }
  },
});
