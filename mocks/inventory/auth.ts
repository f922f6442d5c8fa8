import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { jsonIn } from '../../src/lib/json.ts';

/** Authentication of requests: `none` accepts all, `local` checks the token (AUTH_TYPE). */
export type Auth =
  { readonly kind: 'none' } | { readonly kind: 'local'; readonly publicKey: KeyObject };

const Claims = z.object({
  infra_env_id: z.string().optional(),
  cluster_id: z.string().optional(),
});

/** The ids that a valid token may name. */
interface KnownIds {
  readonly infraEnvIds: ReadonlySet<string>;
  readonly clusterIds: ReadonlySet<string>;
}

/**
 * The reason why a token is refused (401); undefined if it is valid: a JWT signed with ES256 whose
 * claim names an existing infra-env or cluster.
 */
export function refusalOf(auth: Auth, token: string, known: KnownIds): string | undefined {
  if (auth.kind === 'none') return undefined;
  if (token === '') return 'unauthenticated for invalid credentials';
  const claims = claimsOf(token, auth.publicKey);
  if (claims === undefined) return 'token contains an invalid number of segments or signature';
  const isKnown =
    (claims.infra_env_id !== undefined && known.infraEnvIds.has(claims.infra_env_id)) ||
    (claims.cluster_id !== undefined && known.clusterIds.has(claims.cluster_id));
  return isKnown ? undefined : 'claims are incorrectly formatted or name nothing that exists';
}

function claimsOf(token: string, publicKey: KeyObject): z.infer<typeof Claims> | undefined {
  const [head, body, signature, ...rest] = token.split('.');
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0) {
    return undefined;
  }
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  const text = Buffer.from(body, 'base64url').toString('utf8');
  return isSigned ? Claims.safeParse(jsonIn(text)).data : undefined;
}

/** Makes a key pair and a function that signs tokens with it. */
export function tokenIssuer(): {
  readonly auth: Auth;
  readonly issue: (claims: z.infer<typeof Claims>) => string;
} {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    auth: { kind: 'local', publicKey: createPublicKey(privateKey) },
    issue: (claims) => {
      const signed = `${part({ alg: 'ES256', typ: 'JWT' })}.${part(claims)}`;
      const signature = sign('sha256', Buffer.from(signed), {
        key: privateKey,
        dsaEncoding: 'ieee-p1363',
      });
      return `${signed}.${signature.toString('base64url')}`;
    },
  };
}
