import * as z from 'zod';

/**
 * The two shapes of an error of the inventory service (assisted-service swagger, `error` and
 * `infra_error`): the domain gives `reason` with a code in text, the framework `message` with a
 * number. Errors of downloads have these in a body of type application/octet-stream.
 */
const ServiceError = z.union([z.object({ reason: z.string() }), z.object({ message: z.string() })]);

/** What the service says is wrong, in its own words; short, and never a page of HTML. */
export function wordsOfServiceError(body: string): string {
  const known = ServiceError.safeParse(parsed(body)).data;
  if (known !== undefined) return 'reason' in known ? known.reason : known.message;
  if (/<(?:!doctype|html|head|body)\b/i.test(body)) return pageTitle(body);
  return body.trim().split('\n')[0]?.slice(0, 200) ?? '';
}

function pageTitle(page: string): string {
  const title = /<title>([^<]*)<\/title>/i.exec(page)?.[1]?.trim() ?? '';
  return title === '' ? 'a page of HTML' : `a page of HTML, "${title.slice(0, 100)}"`;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
