// What servers answer to virtual machines otherwise than to simulated hosts.
import { machineConfig, pointerConfig } from '../../../test/guest/install/ignition.ts';
import { withGuestScripts } from '../../guest/bootstrap-config.ts';
import { download } from '../../inventory/answers.ts';
import type { HostRecord } from '../../inventory/records.ts';
import type { InventoryStore } from '../../inventory/store.ts';

/** What happens when an installed system asks the machine-config-server. */
export interface ConfigServing {
  /** Whether there is one that answers; Ignition asks again when there is none. */
  readonly isServed: () => boolean;
  /** A host has got its config. */
  readonly given: (hostId: string) => void;
}

/** The answer of the machine-config-server. Hosts are told apart by the query: all guests come from one address. */
export function giveConfig(request: Request, { isServed, given }: ConfigServing): Response {
  const { pathname, searchParams } = new URL(request.url);
  if (!pathname.startsWith('/config/')) return new Response(null, { status: 404 });
  if (!isServed()) return new Response(null, { status: 503 });
  given(searchParams.get('host') ?? '');
  return Response.json(machineConfig());
}

/** What guests must see otherwise than this machine does. */
export interface GuestView {
  readonly store: Pick<InventoryStore, 'host'>;
  /** URLs as guests see them. */
  readonly desk: string;
  readonly configServer: string;
}

/** An answer of the inventory service as guests need it: where their config is, and scripts that they can run. */
export async function forGuests(
  answer: Response,
  url: string,
  { store, desk, configServer }: GuestView,
): Promise<Response> {
  if (!answer.ok) return answer;
  const { pathname, searchParams } = new URL(url);
  const [, id] = /\/hosts\/([^/]+)\/downloads\/ignition$/.exec(pathname) ?? [];
  const host = store.host(id ?? '');
  if (host !== undefined) {
    return download(`${host.role}-${host.id}.ign`, pointerOf(host, configServer));
  }
  if (searchParams.get('file_name') !== 'bootstrap.ign') return answer;
  return download('bootstrap.ign', withGuestScripts(await answer.text(), desk));
}

const pointerOf = ({ id, hostname, role }: HostRecord, configServer: string): string =>
  JSON.stringify(pointerConfig({ hostname, source: `${configServer}/config/${role}?host=${id}` }));
