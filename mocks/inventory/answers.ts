// The two shapes in which the service says no. A client has to read both.

/** What the service's own code answers: the code is a word. */
export const domainError = (status: number, reason: string): Response =>
  Response.json({ kind: 'Error', id: status, href: '', code: String(status), reason }, { status });

/** What its framework answers before that code is reached: the code is a number. */
export const frameworkError = (status: number, message: string): Response =>
  Response.json({ code: status, message }, { status });

/** Errors of downloads are JSON that calls itself an octet stream. */
export async function asDownloadError(answer: Response): Promise<Response> {
  return new Response(await answer.arrayBuffer(), {
    status: answer.status,
    headers: { 'content-type': 'application/octet-stream' },
  });
}

/** A file as the service sends it. */
export const download = (name: string, content: string): Response =>
  new Response(content, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"`,
      'content-length': String(Buffer.byteLength(content)),
    },
  });
