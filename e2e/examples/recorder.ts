/** Calls operations of a running service, and keeps the first call of each as its example. */
import { type OperationId, operations } from '@postrider/contract'

export interface Input {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  /** In place of it: CSV. */
  readonly text?: string
}

export interface Example extends Omit<Input, 'body' | 'text'> {
  readonly body?: object | string
  /** An object; or text, where the operation answers no JSON. */
  readonly answer: unknown
}

export interface Recorder {
  readonly examples: ReadonlyMap<OperationId, Example>
  /** Header fields of each answer that was kept, in lower case, without those of every HTTP answer. */
  readonly headers: ReadonlyMap<OperationId, readonly string[]>
  /** Throws unless it is answered as the contract says. */
  call(
    id: OperationId,
    input?: Input & {
      readonly isExample?: boolean
      /** Of an answer that does not end: how much of it is kept. */
      readonly until?: RegExp
    },
    // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  ): Promise<any>
}

const USUAL = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-content-type-options',
])

export function createRecorder(o: {
  readonly origin: string
  readonly adminToken: string
  readonly apiKey: () => string
  /** Of the pages of the service. */
  readonly publicOrigin: string
}): Recorder {
  const examples = new Map<OperationId, Example>()
  const headers = new Map<OperationId, readonly string[]>()
  let cookie = ''
  const credentialOf = (auth: 'tenant' | 'admin' | 'session' | 'public') => {
    if (auth === 'public') return { origin: o.publicOrigin }
    if (auth === 'session') return { cookie, 'x-postrider-session': '1', origin: o.publicOrigin }
    return { authorization: `Bearer ${auth === 'admin' ? o.adminToken : o.apiKey()}` }
  }
  return {
    examples,
    headers,
    async call(id, { isExample = true, text: upload, until, ...input } = {}) {
      const { method, path, status, auth } = operations[id]
      const at = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        encodeURIComponent(input.params?.[name] ?? ''),
      )
      const query = input.query === undefined ? '' : `?${new URLSearchParams(input.query)}`
      const response = await fetch(o.origin + at + query, {
        method,
        headers: {
          ...credentialOf(auth),
          ...input.headers,
          ...(input.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(upload === undefined ? {} : { 'content-type': 'text/csv' }),
        },
        ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
        ...(upload === undefined ? {} : { body: upload }),
      })
      const [given] = response.headers.getSetCookie()
      cookie = given?.split(';', 1)[0] ?? cookie
      const text = until === undefined ? await response.text() : await begin(response, until)
      if (response.status !== status) throw new Error(`${id}: ${response.status} ${text}`)
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
      const answer: unknown = isJson ? JSON.parse(text) : text
      if (isExample && !examples.has(id)) {
        examples.set(id, { ...input, ...(upload === undefined ? {} : { body: upload }), answer })
        headers.set(
          id,
          [...response.headers.keys()].filter((name) => !USUAL.has(name)),
        )
      }
      return answer
    },
  }
}

async function begin({ body }: Response, until: RegExp): Promise<string> {
  let text = ''
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString()
    const [found] = until.exec(text) ?? []
    if (found !== undefined) return found
  }
  throw new Error(`the answer ended: ${text}`)
}
