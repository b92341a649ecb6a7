/**
 * The package as its users get it: built, packed, installed offline into an empty project outside
 * this repository, then run and type-checked there.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildClient, measureClient } from '../../../scripts/build-client.ts'
import { refusal, reply, startScriptedServer } from './scripted-server.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const contract = join(root, 'packages/contract/src/index.ts')
const boundMs = 120_000

const isAny = 'type IsAny<T> = 0 extends 1 & T ? true : false'
const isSame = `type IsSame<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false`
/**
 * An intersection is printed as the object that it makes, and to the compiler those are two. An
 * interface in place of a JSON object is what the package takes beyond the contract's type.
 */
const flat = `type Flat<T> = T extends object
  ? IsSame<T, Packed.AnyObject> extends true ? never : { [K in keyof T]: Flat<T[K]> }
  : T`

describe('the package that npm pack makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-client-'))
  const project = join(folder, 'project')
  const installed = join(project, 'node_modules/@postrider/client')
  let tarball = ''

  beforeAll(async () => {
    const built = join(folder, 'built')
    buildClient(built)
    mkdirSync(project)
    write('package.json', JSON.stringify({ name: 'project', private: true, type: 'module' }))
    await npm('pack', built, '--pack-destination', folder)
    tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')
    await npm('install', '--offline', tarball)
  }, boundMs)

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('holds JavaScript and declarations, and names no other package', () => {
    expect(readdirSync(join(project, 'node_modules/@postrider'))).toEqual(['client'])
    expect(readdirSync(join(project, 'node_modules')).filter(isVisible)).toEqual(['@postrider'])
    expect(Object.keys(JSON.parse(read('package.json')))).toEqual([
      ...[
        'name',
        'version',
        'description',
        'keywords',
        'license',
        'author',
        'homepage',
        'bugs',
        'repository',
      ],
      ...['type', 'main', 'types'],
      ...['exports', 'files', 'sideEffects', 'engines'],
    ])
    expect(files().filter((file) => !/(\.js|\.d\.ts)$/.test(file))).toEqual([
      ...['LICENSE', 'README.md', 'cjs/package.json', 'package.json'],
    ])
    for (const file of files().filter((name) => /\.[jt]s$/.test(name))) {
      const imported = [...read(file).matchAll(/(?:from |import\(|require\()['"]([^'"]*)/g)]
      expect(imported.filter(([, specifier]) => !/^\.\.?\/.*\.js$/.test(specifier ?? ''))).toEqual(
        [],
      )
      expect(read(file)).not.toMatch(/@postrider\/contract|typebox|reference types/)
    }
  })

  it('sends an email and reports a refusal, on plain Node', { timeout: boundMs }, async () => {
    const accepted = { success: true, message: 'accepted', ref_id: 'ref_1', recipients: [] }
    const server = await startScriptedServer(
      reply(202, accepted),
      refusal(404, 'webhook_not_found'),
    )
    write('run.js', runScript(server.url))
    const { stdout } = await node('run.js')
    expect(JSON.parse(stdout)).toEqual({ answer: accepted, code: 'webhook_not_found', status: 404 })
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/email/send',
      'DELETE /v1/webhook/delete',
    ])
    expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({ subject: 'Hello' })
  })

  it('receives webhooks, on plain Node', { timeout: boundMs }, async () => {
    write('receive.js', receiveScript)
    const { stdout } = await node('receive.js')
    const key = '["MAIL_DELIVERED","01JD4M8W6ZQ3V5T7X9Y2A4C6E8","2026-11-20T13:01:02.123456Z"]'
    expect(JSON.parse(stdout)).toEqual({
      statuses: [200, 401, 200],
      keys: [key, key],
      path: '/0/details',
    })
  })

  it('gives each entry point what it needs, and no more', { timeout: boundMs }, async () => {
    const measured = await measureClient(installed)
    const filesOf = (entry: string) => measured.find((one) => one.entry === entry)?.files
    expect(measured.map(({ entry }) => entry)).toEqual(['.', './webhooks', './webhooks/node'])
    expect(filesOf('.')?.filter((file) => file.startsWith('webhooks/'))).toEqual([])
    expect(filesOf('./webhooks')?.filter((file) => !file.startsWith('webhooks/'))).toEqual([])
    expect(filesOf('./webhooks')).not.toContain('webhooks/node.js')
    expect(filesOf('./webhooks/node')).not.toContain('webhooks/parse-webhook.js')
    for (const { entry, bytes, gzipBytes } of measured) {
      expect(gzipBytes, entry).toBeLessThan(8_000)
      process.stdout.write(`@postrider/client ${entry}: ${bytes} bytes, ${gzipBytes} with gzip\n`)
    }
  })

  it('can be imported and required, and so can its package.json', {
    timeout: boundMs,
  }, async () => {
    write('kinds.cjs', kindsScript)
    const { stdout } = await node('kinds.cjs')
    expect(JSON.parse(stdout)).toEqual({
      names: [['Postrider', 'PostriderError'], true, true],
      version: JSON.parse(read('package.json')).version,
      refused: 'invalid_argument',
    })
  })

  it('has types that every module system of Node.js and every bundler resolves', {
    timeout: boundMs,
  }, async () => {
    const packed = createPackageFromTarballData(new Uint8Array(readFileSync(tarball)))
    const { types, problems = [] } = (await checkPackage(packed)) as CheckResult
    expect(types).toMatchObject({ kind: 'included' })
    // Those before Node.js 12, which know no `exports`.
    const isOld = (problem: object) =>
      'resolutionKind' in problem && problem.resolutionKind === 'node10'
    expect(problems.filter((problem) => !isOld(problem))).toEqual([])
  })

  it.each(['consumer.mts', 'consumer.cts'])(
    'type-checks exactly, and runs: %s',
    {
      timeout: boundMs,
    },
    async (file) => {
      write(file, exactConsumer)
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false']
      const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
      const module = ['--module', 'nodenext', '--target', 'es2022', '--noEmit']
      await node(tsc, ...strict, ...types, ...module, file)
      const server = await startScriptedServer(
        reply(202, { success: true, message: 'm', ref_id: 'ref_1', recipients: [] }),
      )
      await node(tsc, ...types, '--module', 'nodenext', '--target', 'es2022', file)
      const { stdout } = await node(file.replace('ts', 'js'), server.url)
      expect(JSON.parse(stdout)).toEqual({ refId: 'ref_1', keys: 1 })
      expect(JSON.parse(server.requests[0]?.body ?? '')).toMatchObject({
        custom_args: { order_id: 1, note: 'gift' },
      })
    },
  )

  it('describes every operation, event and field', () => {
    for (const kind of ['esm', 'cjs']) {
      expect(uncommented(`${kind}/postrider.d.ts`)).toEqual([])
      expect(uncommented(`${kind}/contract.d.ts`)).toEqual([])
    }
    expect(read('esm/postrider.d.ts')).toMatch(/\* `POST \/v1\/email\/send`\n/)
    expect(read('esm/contract.d.ts')).toMatch(/^export type Address = \{/m)
    expect(read('esm/contract.d.ts')).toMatch(/^export type Attachment = \{/m)
  })

  it('type-checks under --strict, with its declarations', { timeout: boundMs }, async () => {
    write('consumer.ts', consumer)
    const strict = ['--strict', '--skipLibCheck', 'false', '--noEmit', '--target', 'es2022']
    await node(tsc, ...strict, '--module', 'nodenext', 'consumer.ts')
  })

  it.each<[string, string[]]>([
    ['the types of browsers and edge runtimes', []],
    [
      'the types of Node.js',
      ['--lib', 'es2022', '--types', 'node', '--typeRoots', join(root, 'node_modules/@types')],
    ],
  ])('type-checks a receiver with %s', { timeout: boundMs }, async (name, types) => {
    const file = name.endsWith('Node.js') ? 'node-receiver.ts' : 'receiver.ts'
    write('receiver.ts', receiver)
    write('node-receiver.ts', nodeReceiver)
    const strict = ['--strict', '--skipLibCheck', 'false', '--noEmit', '--target', 'es2022']
    await node(tsc, ...strict, ...types, '--module', 'nodenext', file)
  })

  it('has a README whose programs type-check', { timeout: boundMs }, async () => {
    const blocks = [...read('README.md').matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code)
    // The others go on from one another.
    const programs = blocks.filter((code) =>
      /client\/webhooks|exhausted|getStatistics/.test(code ?? ''),
    )
    expect(programs.length).toBeGreaterThanOrEqual(7)
    const files = programs.map((code, i) => {
      write(`readme-${i}.ts`, code ?? '')
      return `readme-${i}.ts`
    })
    write('express.d.ts', "declare module 'express'\n")
    const strict = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext']
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
    await node(tsc, ...strict, ...types, 'express.d.ts', ...files)
  })

  it('has each of the types of the contract', { timeout: boundMs }, async () => {
    const declarations = join(installed, 'esm/contract.d.ts')
    const printed = [...read('esm/contract.d.ts').matchAll(/^export type (\w+)/gm)]
    const ours = exportedTypes(contract)
    // A schema cannot say that one of two groups of fields is there; the receiver's type does.
    const isLooser = (name: string) => name === 'IncomingEmail'
    const names = printed.flatMap(([, name = '']) =>
      ours.has(name) && !isLooser(name) ? name : [],
    )
    expect(names).toContain('SendEmailBody')
    expect(names.length).toBeGreaterThan(150)
    const checks = names.map((name) => {
      const [own, its] = [`Packed.${name}`, `Contract.${name}`]
      const same = `IsSame<Flat<${own}>, Flat<${its}>>`
      return `export const of${name}: [IsAny<${own}>, ${same}] = [false, true]`
    })
    write(
      'same.ts',
      [
        `import type * as Packed from '${declarations}'`,
        `import type * as Contract from '${contract}'`,
        isAny,
        isSame,
        flat,
        ...checks,
      ].join('\n'),
    )
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
    // What callers send takes `undefined` in the package.
    const options = { ...compilerOptions, types: [], exactOptionalPropertyTypes: false }
    write('tsconfig.same.json', JSON.stringify({ compilerOptions: options, files: ['same.ts'] }))
    await node(tsc, '-p', 'tsconfig.same.json')
  })

  /** Shapes and members without a comment, by the line where they stand. */
  function uncommented(name: string): string[] {
    const file = ts.createSourceFile(name, read(name), ts.ScriptTarget.Latest, true)
    const found: string[] = []
    const visit = (node: ts.Node) => {
      const isShape =
        ts.isTypeAliasDeclaration(node) && !/(?:Query|Body|Answer)$/.test(node.name.text)
      const isMember = ts.isPropertySignature(node) || ts.isMethodDeclaration(node)
      if ((isMember || isShape) && ts.getJSDocCommentsAndTags(node).length === 0) {
        const { line } = file.getLineAndCharacterOfPosition(node.getStart())
        found.push(`${name}:${line + 1} ${node.name.getText()}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(file)
    return found
  }

  function write(name: string, text: string): void {
    writeFileSync(join(project, name), text)
  }

  function read(file: string): string {
    return readFileSync(join(installed, file), 'utf8')
  }

  function files(): string[] {
    return readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
      .sort()
  }

  function npm(...args: string[]) {
    return run('npm', [...args, '--cache', join(folder, 'cache'), '--no-audit', '--no-fund'])
  }

  function node(...args: string[]) {
    return run(process.execPath, args)
  }

  /** What a program wrote, in the error too: a compiler tells its findings on stdout. */
  async function run(file: string, args: string[]) {
    const env = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS)/.test(name))
    const options = { cwd: project, env: Object.fromEntries(env), timeout: boundMs }
    try {
      return await promisify(execFile)(file, args, options)
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
      throw new Error(`${file} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
    }
  }
})

function exportedTypes(path: string): ReadonlySet<string> {
  const program = ts.createProgram([path], { allowImportingTsExtensions: true, noEmit: true })
  const file = program.getSourceFile(path)
  const module = file && program.getTypeChecker().getSymbolAtLocation(file)
  const symbols = module ? program.getTypeChecker().getExportsOfModule(module) : []
  const isType = ({ flags }: ts.Symbol) => (flags & ts.SymbolFlags.Type) !== 0
  return new Set(symbols.filter(isType).map(({ name }) => name))
}

interface CheckResult {
  readonly types: unknown
  readonly problems?: readonly object[]
}

function isVisible(name: string): boolean {
  return !name.startsWith('.')
}

function runScript(url: string): string {
  return `import { Postrider, PostriderError } from '@postrider/client'
const postrider = new Postrider({ apiKey: 'pr_key', basePath: '${url}' })
const answer = await postrider.sendEmail({
  from: { email: 'news@example.com' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello, Ada' }],
})
const error = await postrider.deleteWebhook({ event: 'EMAIL_EVENT' }).catch((error) => error)
if (!(error instanceof PostriderError)) throw error
console.log(JSON.stringify({ answer, code: error.code, status: error.status }))
`
}

const consumer = `import {
  Postrider, PostriderError, type SendEmailBody, type SendEmailInput,
} from '@postrider/client'
${isAny}
${isSame}
type Send = Postrider['sendEmail']
type Body = Parameters<Send>[0]
type Answer = Awaited<ReturnType<Send>>
export const noneIsAny: [
  IsAny<Send>, IsAny<Body>, IsAny<Body['to'][number]>, IsAny<Answer>, IsAny<Answer['recipients']>,
] = [false, false, false, false, false]
export const exact: [
  IsSame<Body, SendEmailInput>,
  IsSame<Body['to'], SendEmailBody['to']>,
  IsSame<Body['send_at'], string | Date | undefined>,
  IsSame<NonNullable<Body['content']>[number]['type'], 'text/html' | 'text/plain'>,
  IsSame<Answer['ref_id'], string>,
] = [true, true, true, true, true]

const email: SendEmailInput = {
  from: { email: 'news@example.com' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello, Ada' }],
  custom_args: { order_id: 1234 },
}
const postrider = new Postrider({ apiKey: 'pr_key', maxRetries: 1 })
const { recipients } = await postrider.sendEmail(email, { idempotencyKey: 'order-1234' })
export const statuses = recipients.map(({ status }) => status === 'queued')
// @ts-expect-error the sender is missing
await postrider.sendEmail({ to: email.to, subject: 'Hello', content: [] })
// @ts-expect-error neither a subject nor a template
await postrider.sendEmail({ from: email.from, to: email.to, content: [] })
// @ts-expect-error no such type of content
await postrider.sendEmail({ ...email, content: [{ type: 'text/markdown', value: '' }] })
// @ts-expect-error no such field of an answer
recipients[0].colour
export const code = (error: PostriderError): string => error.errors?.[0]?.path ?? error.code
`

const kindsScript = `const required = require('@postrider/client')
const receiver = require('@postrider/client/webhooks')
const nodeReceiver = require('@postrider/client/webhooks/node')
const { version } = require('@postrider/client/package.json')
import('@postrider/client').then(async (imported) => {
  const names = [
    Object.keys(imported).sort(),
    Object.keys(imported).every((name) => typeof required[name] === 'function'),
    typeof receiver.createWebhookHandler === 'function' && typeof nodeReceiver.toNodeHandler === 'function',
  ]
  const client = new required.Postrider({ apiKey: 'pr_key' })
  const refused = await client.getDomain('').catch((error) => error.code)
  console.log(JSON.stringify({ names, version, refused }))
})
`

const exactConsumer = `import {
  Postrider, type Address, type Attachment, type PostriderOptions, type SendEmailInput,
} from '@postrider/client'
import { createWebhookHandler, type EventOf } from '@postrider/client/webhooks'

interface Order { order_id: number; note?: string }
const order: Order = { order_id: 1, note: 'gift' }
const name: string | undefined = undefined
const from: Address = { email: 'news@example.com', name }
const attachments: Attachment[] | undefined = undefined
const key: string | undefined = undefined
const options: PostriderOptions = {
  apiKey: 'pr_key', basePath: process.argv[2], timeout: undefined, maxRetries: undefined,
}
const email: SendEmailInput = {
  from, to: [from], subject: 'Hello', content: [{ type: 'text/plain', value: '' }],
  custom_args: order, attachments, replyTo: undefined, settings: { open_tracking: undefined },
}
// @ts-expect-error an array is no JSON object
email.custom_args = [1]
email.custom_args = order
// @ts-expect-error there is no such option
export const misspelt = (): unknown => new Postrider({ apiKey: 'k', baseUrl: '' })
export const deactivated = (event: EventOf<'MAILER_DEACTIVATED'>): string => event.details.mailer_id
export const handler = createWebhookHandler({
  header: undefined, secrets: undefined, maxBytes: undefined, onEvent: () => undefined,
})
async function main(): Promise<void> {
  const postrider = new Postrider(options)
  const sent = postrider.sendEmail(email, { idempotencyKey: key, signal: undefined, timeout: undefined })
  const { data, response } = await sent.withResponse()
  const keys = response.status === 202 ? 1 : 0
  console.log(JSON.stringify({ refId: data.ref_id, keys }))
  if (data.ref_id === '') for await (const { domain } of postrider.listDomains({ pageSize: undefined })) console.log(domain)
}
void main()
`

const receiveScript = `import { createServer } from 'node:http'
import {
  createWebhookHandler, dedupKey, exampleEvent, exampleRequest, parseWebhook, WebhookError,
} from '@postrider/client/webhooks'
import { toNodeHandler } from '@postrider/client/webhooks/node'
const keys = []
const handler = createWebhookHandler({
  header: 'X-Webhook-Secret',
  secrets: ['secret'],
  onEvent: (event) => void keys.push(dedupKey(event)),
})
const event = exampleEvent('MAIL_DELIVERED')
const headers = { 'X-Webhook-Secret': 'secret' }
const statuses = [
  (await handler(exampleRequest([event], { headers }))).status,
  (await handler(exampleRequest([event]))).status,
]
const server = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const url = 'http://127.0.0.1:' + server.address().port
statuses.push((await fetch(exampleRequest([event], { url, headers }))).status)
server.close()
server.closeAllConnections()
try {
  parseWebhook('[{"event":"MAIL_DELIVERED","success":true}]')
} catch (error) {
  if (!(error instanceof WebhookError)) throw error
  console.log(JSON.stringify({ statuses, keys, path: error.path }))
}
`

const receiver = `import {
  createWebhookHandler, dedupKey, exampleEvent, isTerminal, parseWebhook, verifyHeader,
  type EventName, type EventOf, type ReceivedEvent, type UnknownEvent, type WebhookContext,
} from '@postrider/client/webhooks'
${isAny}
${isSame}
export const noneIsAny: [
  IsAny<ReceivedEvent>, IsAny<EventOf<'SMTP_ERROR'>>, IsAny<EventOf<'SMTP_ERROR'>['details']>,
  IsAny<EventOf<'INCOMING_EMAIL'>['details']['headers']>, IsAny<WebhookContext['signal']>,
] = [false, false, false, false, false]
export const exact: [
  IsSame<EventOf<'SMTP_ERROR'>['details']['attempt'], number>,
  IsSame<EventOf<'MAIL_DELIVERED'>['success'], true>,
  IsSame<Extract<EventName, 'MAIL_OPENED' | 'MAIL_READ'>, 'MAIL_OPENED'>,
] = [true, true, true]

export function tell(event: ReceivedEvent): string {
  switch (event.event) {
    case 'SMTP_ERROR':
      return event.details.failed_reason + event.details.attempt.toFixed()
    case 'MAIL_CLICKED':
      // @ts-expect-error a click has no attempt
      event.details.attempt
      return event.details.tracking.url ?? ''
    case 'MAIL_DELIVERED': case 'MAIL_OPENED': case 'MAIL_UNSUBSCRIBED': case 'MAIL_BOUNCE':
    case 'MAIL_SPAM': case 'MAIL_POLICY_REJECTION': case 'MAIL_GENERATION_FAILURE':
    case 'MAIL_GENERATION_REJECTION': case 'PHISHING':
      return event.details.ref_id
    case 'MAILER_DEACTIVATED':
      // @ts-expect-error it has no email
      event.details.ref_id
      return event.details.config_type
    case 'DOMAIN_VERIFICATION':
      return event.details.verified ? event.details.domain : ''
    case 'IMAP_ERROR':
      return event.details.mailer_id
    case 'INCOMING_EMAIL':
      return 'mailer_id' in event.details ? event.details.mailer_id : event.details.username
    default: {
      const unknown: UnknownEvent = event
      const name: string = unknown.event
      // @ts-expect-error nothing is known of its details
      unknown.details.ref_id.length
      return name
    }
  }
}
// @ts-expect-error no such event
exampleEvent('MAIL_READ')
export const handler: (request: Request) => Promise<Response> = createWebhookHandler({
  header: 'X-Webhook-Secret',
  secrets: ['new', 'old'],
  onEvent: async (event, { traceparent, signal }) => {
    signal.throwIfAborted()
    console.log(traceparent?.length, dedupKey(event), isTerminal(event), tell(event))
  },
})
export const whole = createWebhookHandler({ onEvents: (events) => events.forEach(tell) })
// @ts-expect-error nobody handles the events
createWebhookHandler({ header: 'X-Webhook-Secret', secrets: ['new'] })
export const names = parseWebhook('[]').map(({ event }) => event)
export const isOurs: boolean = verifyHeader(new Headers(), 'X-Webhook-Secret', ['new'])
export default { fetch: handler }
`

const nodeReceiver = `import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { verifyHeader } from '@postrider/client/webhooks'
import { toNodeHandler } from '@postrider/client/webhooks/node'
import { handler } from './receiver.js'
createServer(toNodeHandler(handler)).listen(8080)
createHttp2Server(toNodeHandler(handler)).listen(8443)
export const isOurs = (req: IncomingMessage): boolean =>
  verifyHeader(req.headers, 'X-Webhook-Secret', ['new'])
`
