import { ApiError } from './api-error.ts';
import { type ApiServer, part } from './api-server.ts';
import { parsed, readText } from './list.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeKind } from '../../ports/kube.ts';

/** A kind in the form of manifests. */
interface ManifestKind {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
}

/** A kind as the API server serves it. */
interface ServedKind {
  readonly kind: KubeKind;
  readonly isNamespaced: boolean;
}

/** The served kinds of an API server. */
export interface ServedKinds {
  /**
   * Finds the kind of a manifest. Caches the server's answer, and asks again for a kind that is not
   * in it.
   * @throws ApiError `kube.not-found` if the kind is not served; errors of `ask`
   */
  readonly find: (
    server: ApiServer,
    what: ManifestKind,
    signal: AbortSignal,
  ) => Promise<ServedKind>;
}

/** An APIResourceList (k8s.io/apimachinery); names with a slash are subresources. */
interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

const isResourceList = (value: unknown): boolean => {
  const { resources = [] } = Object(value) as { readonly resources?: unknown };
  if (value === null || !Array.isArray(resources)) return false;
  return resources.every(
    (one: unknown) => typeof (Object(one) as { name?: unknown }).name === 'string',
  );
};

/** An empty cache of served kinds. */
export function servedKinds(): ServedKinds {
  const known = new Map<string, ServedKind>();
  const keyOf = ({ apiVersion, kind }: ManifestKind): string => `${apiVersion} ${kind}`;
  const read = async (
    server: ApiServer,
    apiVersion: string,
    signal: AbortSignal,
  ): Promise<void> => {
    const words = apiVersion.split('/');
    const [group = '', version = ''] = words.length === 1 ? ['', ...words] : words;
    const path = `/${group === '' ? 'api' : 'apis'}/${words.map(part).join('/')}`;
    const text = await server.ask({ method: 'GET', path }, signal, readText);
    const { resources = [] } = parsed<ResourceList>(text, isResourceList);
    for (const { name, kind, namespaced } of resources) {
      if (name.includes('/')) continue;
      known.set(keyOf({ apiVersion, kind }), {
        kind: { group, version, plural: name },
        isNamespaced: namespaced,
      });
    }
  };
  return {
    find: async (server, what, signal) => {
      const key = keyOf(what);
      if (!known.has(key)) await read(server, what.apiVersion, signal);
      const found = known.get(key);
      if (found !== undefined) return found;
      throw new ApiError(
        kubeFailure(
          'kube.not-found',
          `the API server serves no ${what.kind} of ${what.apiVersion}`,
        ),
        { worth: 'none' },
      );
    },
  };
}
