// The registries that simulated hosts reach, as one network: their users and rights, and their
// outages.

/** An image in a registry or in the store of a simulated host. */
export interface HeldImage {
  readonly digest: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Name of the rendered MachineConfig that it contains a copy of. */
  readonly currentConfig?: string | undefined;
}

/** A user of a registry. */
interface RegistryUser {
  /** `name:password`, decoded from a pull secret. */
  readonly credentials: string;
  readonly may: 'pull' | 'push';
}

/** A registry of a run. */
export interface RegistryPlan {
  /** HOST[:PORT] */
  readonly host: string;
  readonly users: readonly RegistryUser[];
  /** No host reaches it, as in a disconnected site. */
  readonly isUnreachable?: boolean;
  /** It dies at the first push, and is away for this long. */
  readonly diesForSeconds?: number | undefined;
}

/** A request to a registry. */
interface RegistryRequest {
  /** Name of the requesting host. */
  readonly by: string;
  readonly verb: 'pull' | 'push';
  /** HOST/PATH:TAG or HOST/PATH@DIGEST */
  readonly image: string;
  /** `name:password`; undefined without any. */
  readonly credentials: string | undefined;
}

/** A request, and its refusal. */
interface RegistryAsk extends Omit<RegistryRequest, 'credentials'> {
  readonly registry: string;
  /** Text of the refusal. */
  readonly refusal: string | undefined;
}

/** All registries of a run. */
export type RegistryNetwork = ReturnType<typeof registryNetwork>;

/** The registry of a pull spec. */
export const registryOf = (image: string): string => image.split('/')[0] ?? '';

/** Opens registries without images; `now` gives milliseconds. */
export function registryNetwork(plans: readonly RegistryPlan[], now: () => number = Date.now) {
  const asked: RegistryAsk[] = [];
  const awayUntil = new Map<string, number>();
  const pullsToDie = new Map<string, { readonly seconds: number; readonly died: () => void }>();
  const answer = (request: RegistryRequest): string | undefined => {
    const registry = registryOf(request.image);
    const plan = plans.find(({ host }) => host === registry);
    if (plan === undefined) return `dial tcp: lookup ${registry}: no such host`;
    if (plan.isUnreachable === true) return `dial tcp ${registry}: connect: no route to host`;
    const until = awayUntil.get(registry);
    const dies = request.verb === 'pull' ? pullsToDie.get(request.by) : undefined;
    const onPush = until === undefined && request.verb === 'push' ? plan.diesForSeconds : undefined;
    const seconds = dies?.seconds ?? onPush;
    if (seconds !== undefined) {
      dies?.died();
      pullsToDie.delete(request.by);
      awayUntil.set(registry, now() + seconds * 1000);
      return `read tcp ${registry}: read: connection reset by peer`;
    }
    if (until !== undefined && now() < until) {
      return `dial tcp ${registry}: connect: connection refused`;
    }
    return refusalOf(plan, request);
  };
  return {
    /** By name, with a tag or with a digest. */
    images: new Map<string, HeldImage>(),
    /** All requests so far, except to registries that hosts run themselves. */
    asked: asked as readonly RegistryAsk[],
    /** Makes a registry die at the next pull of a host, for a time; calls back when it has. */
    dieAtPull: (by: string, seconds: number, died: () => void): unknown =>
      pullsToDie.set(by, { seconds, died }),
    /** The refusal of a request, without a record of it. */
    refusal: answer,
    /** Sends a request: returns the refusal, in the words of Go's programs, or undefined. */
    reach: (request: RegistryRequest): string | undefined => {
      const refusal = answer(request);
      const { by, verb, image } = request;
      asked.push({ by, verb, image, registry: registryOf(image), refusal });
      return refusal;
    },
  };
}

function refusalOf(
  { users }: RegistryPlan,
  { credentials, verb, image }: RegistryRequest,
): string | undefined {
  const user = users.find((one) => one.credentials === credentials);
  if (user === undefined) return `reading manifest ${image}: unauthorized: authentication required`;
  return verb === 'push' && user.may !== 'push'
    ? `writing blob: denied: requested access to ${image} is denied`
    : undefined;
}

/** The credentials for a registry in the text of a pull secret; undefined when it has none. */
export function credentialsIn(pullSecret: string, registry: string): string | undefined {
  const { auths = {} } = JSON.parse(pullSecret) as {
    readonly auths?: Readonly<Record<string, { readonly auth?: string }>>;
  };
  const auth = auths[registry]?.auth;
  return auth === undefined ? undefined : Buffer.from(auth, 'base64').toString('utf8');
}

/** An entry of registries.conf with its mirrors. */
interface MirroredPrefix {
  readonly prefix: string;
  readonly mirrors: readonly string[];
}

/**
 * The places of an image, in search order: mirrors of the longest prefix, then the place itself
 * (containers-registries.conf(5), version 2). It reads only the parts of the format that the agent
 * and the lab write.
 */
export function placesOf(settings: string, image: string): readonly string[] {
  const [found] = entriesIn(settings)
    .filter(({ prefix }) => isBelow(image, prefix))
    .toSorted((one, other) => other.prefix.length - one.prefix.length);
  if (found === undefined) return [image];
  const rest = image.slice(found.prefix.length);
  return [...found.mirrors.map((mirror) => `${mirror}${rest}`), image];
}

const isBelow = (image: string, prefix: string): boolean =>
  prefix !== '' && image.startsWith(prefix) && /^([/:@]|$)/.test(image.slice(prefix.length));

function entriesIn(settings: string): readonly MirroredPrefix[] {
  return settings
    .split(/^\[\[registry\]\]$/m)
    .slice(1)
    .map((entry) => {
      const [own = '', ...mirrors] = entry.split(/^\s*\[\[registry\.mirror\]\]$/m);
      return {
        prefix: valueIn(own, 'prefix') ?? valueIn(own, 'location') ?? '',
        mirrors: mirrors.flatMap((mirror) => valueIn(mirror, 'location') ?? []),
      };
    });
}

const valueIn = (text: string, key: string): string | undefined =>
  new RegExp(`^\\s*${key}\\s*=\\s*"([^"]*)"`, 'm').exec(text)?.[1];

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** Registries that exist only in the lab, and one user for all of them, who may not push. */
const hosts = [
  'registry.example.test',
  'quay.example.test',
  'images.partner.test',
  'mirror.site.test:8443',
];

/** A pull secret for these registries. */
export const labPullSecret = JSON.stringify({
  auths: Object.fromEntries(
    hosts.map((host) => [
      host,
      { auth: inBase64('lab:not-a-password'), email: 'lab@example.test' },
    ]),
  ),
});
