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
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildClient } from '../../../scripts/build-client.ts'
import { refusal, reply, startScriptedServer } from './scripted-server.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const contract = join(root, 'packages/contract/src/index.ts')
const boundMs = 120_000

const isAny = 'type IsAny<T> = 0 extends 1 & T ? true : false'
const isSame = `type IsSame<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false`

describe('the package that npm pack makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-client-'))
  const project = join(folder, 'project')
  const installed = join(project, 'node_modules/@postrider/client')

  beforeAll(async () => {
    const built = join(folder, 'built')
    buildClient(built)
    mkdirSync(project)
    write('package.json', JSON.stringify({ name: 'project', private: true, type: 'module' }))
    await npm('pack', built, '--pack-destination', folder)
    const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
    await npm('install', '--offline', join(folder, tarball))
  }, boundMs)

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('holds JavaScript and declarations, and names no other package', () => {
    expect(readdirSync(join(project, 'node_modules/@postrider'))).toEqual(['client'])
    expect(readdirSync(join(project, 'node_modules')).filter(isVisible)).toEqual(['@postrider'])
    expect(Object.keys(JSON.parse(read('package.json')))).toEqual([
      ...['name', 'version', 'description', 'license', 'type'],
      ...['exports', 'files', 'sideEffects', 'engines'],
    ])
    expect(files().filter((file) => !/(\.js|\.d\.ts)$/.test(file))).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ])
    for (const file of files().filter((name) => /\.[jt]s$/.test(name))) {
      const imported = [...read(file).matchAll(/(?:from|import)[ (]*['"]([^'"]*)/g)]
      expect(imported.filter(([, specifier]) => !/^\.\.?\/.*\.js$/.test(specifier ?? ''))).toEqual(
        [],
      )
      expect(read(file)).not.toMatch(/@postrider\/contract|typebox|reference types/)
    }
  })

  it('sends an email and tells a refusal, on plain Node', { timeout: boundMs }, async () => {
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

  it('type-checks under --strict, with its declarations', { timeout: boundMs }, async () => {
    write('consumer.ts', consumer)
    const strict = ['--strict', '--skipLibCheck', 'false', '--noEmit', '--target', 'es2022']
    await node(tsc, ...strict, '--module', 'nodenext', 'consumer.ts')
  })

  it('has the types of the contract, each of them', { timeout: boundMs }, async () => {
    const declarations = join(installed, 'contract.d.ts')
    const names = [...read('contract.d.ts').matchAll(/^export type (\w+)/gm)].map(([, n]) => n)
    expect(names).toContain('SendEmailBody')
    const checks = names.map((name) => {
      const [own, its] = [`Packed.${name}`, `Contract.${name}`]
      return `export const of${name}: [IsAny<${own}>, IsSame<${own}, ${its}>] = [false, true]`
    })
    write(
      'same.ts',
      [
        `import type * as Packed from '${declarations}'`,
        `import type * as Contract from '${contract}'`,
        isAny,
        isSame,
        ...checks,
      ].join('\n'),
    )
    const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
    const options = { ...compilerOptions, types: [] }
    write('tsconfig.same.json', JSON.stringify({ compilerOptions: options, files: ['same.ts'] }))
    await node(tsc, '-p', 'tsconfig.same.json')
  })

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

const consumer = `import { Postrider, PostriderError, type SendEmailBody } from '@postrider/client'
${isAny}
${isSame}
type Send = Postrider['sendEmail']
type Body = Parameters<Send>[0]
type Answer = Awaited<ReturnType<Send>>
export const noneIsAny: [
  IsAny<Send>, IsAny<Body>, IsAny<Body['to'][number]>, IsAny<Answer>, IsAny<Answer['recipients']>,
] = [false, false, false, false, false]
export const exact: [
  IsSame<Body, SendEmailBody>,
  IsSame<Body['content'][number]['type'], 'text/html' | 'text/plain'>,
  IsSame<Answer['ref_id'], string>,
] = [true, true, true]

const email: SendEmailBody = {
  from: { email: 'news@example.com' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello, Ada' }],
  custom_args: { order_id: 1234 },
}
const postrider = new Postrider({ apiKey: 'pr_key', maxRetries: 1 })
const { recipients } = await postrider.sendEmail(email, { idempotencyKey: 'order-1234' })
export const statuses = recipients.map(({ status }) => status === 'queued')
// @ts-expect-error the subject is missing
await postrider.sendEmail({ from: email.from, to: email.to, content: email.content })
// @ts-expect-error no such type of content
await postrider.sendEmail({ ...email, content: [{ type: 'text/markdown', value: '' }] })
// @ts-expect-error no such field of an answer
recipients[0].colour
export const code = (error: PostriderError): string => error.errors?.[0]?.path ?? error.code
`
