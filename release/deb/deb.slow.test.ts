/** The Debian package, from the installation to the purge. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  createSmtpServer,
  findFreePort,
  type RunningProcess,
  startProcess,
} from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildApp } from '../app/build-app.ts'
import { buildDeb, toDebianVersion } from './build-deb.ts'
import { createDebianRoot, type DebianRoot } from './debian-root.ts'

const unit = fileURLToPath(new URL('files/postrider.service', import.meta.url))

/** What this machine lacks for a Debian inside it, in words. */
function missing(): string | undefined {
  if (process.getuid?.() !== 0) return 'root'
  for (const tool of ['dpkg-deb', 'unshare', 'nsenter', 'setpriv', 'adduser', 'deb-systemd-helper'])
    if (spawnSync('which', [tool]).status !== 0) return tool
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'the right to mount'
  return undefined
}

const lacking = missing()
if (lacking !== undefined) console.warn(`skipped: the Debian package needs ${lacking}`)

it.skipIf(spawnSync('which', ['systemd-analyze']).status !== 0)(
  'has a unit that systemd calls safe enough',
  () => {
    const args = ['security', '--offline=true', '--threshold=20', '--no-pager', unit]
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    expect(stdout).toMatch(/Overall exposure level for postrider\.service: \d\.\d OK/)
    expect(status).toBe(0)
  },
)

it('sorts a candidate before its release', () => {
  expect(toDebianVersion('1.0.0-rc.1')).toBe('1.0.0~rc.1')
  expect(toDebianVersion('1.0.0')).toBe('1.0.0')
})

describe.skipIf(lacking !== undefined)('the Debian package', () => {
  const work = mkdtempSync(join(tmpdir(), 'postrider-deb-test-'))
  const cleanups: (() => unknown)[] = [() => rmSync(work, { recursive: true, force: true })]
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  let first = ''
  let second = ''
  let debian: DebianRoot

  beforeAll(async () => {
    const app = join(work, 'app')
    await buildApp({ arch: 'x64', outDir: app, hasPostgres: true })
    const build = (version: string, outDir: string) =>
      buildDeb({ arch: 'x64', app, version, outDir: join(work, outDir) })
    first = await build('1.0.0-rc.1', 'first')
    second = await build('1.0.0', 'second')
    process.umask(0o077)
    const again = await build('1.0.0-rc.1', 'again')
    expect(sha256(again)).toBe(sha256(first))
    rmSync(again)
    rmSync(app, { recursive: true })
    debian = await createDebianRoot()
    cleanups.push(() => debian.close())
  }, 400_000)

  const install = (path: string) => {
    execFileSync('sh', ['-c', `cat '${path}' > "$1"`, 'sh', join(work, 'current.deb')])
    return debian.run(`dpkg --force-confold -i '${join(work, 'current.deb')}' 2>&1`)
  }
  /** As systemd runs a line of the unit: as its user, without capabilities. */
  const lineOf = (key: string) => {
    const [, line] = new RegExp(`^${key}=-?(.+)$`, 'm').exec(readFileSync(unit, 'utf8')) ?? []
    if (line === undefined) throw new Error(`the unit has no ${key}`)
    return line
  }
  const start = async (): Promise<RunningProcess> => {
    const [node, script, ...args] = debian.argvAs('postrider', lineOf('ExecStart'))
    const running = await startProcess({ node, script, args, ready: /"msg":"service\.started"/ })
    cleanups.push(() => running.kill('SIGTERM'))
    return running
  }

  it('is small enough to be downloaded in a minute', () => {
    expect(statSync(first).size).toBeLessThan(80e6)
  })

  it('installs, sends, is upgraded, removed and purged', async () => {
    expect(install(first)).toContain('Setting up postrider')
    expect(debian.run('stat -c "%U:%G %a" /etc/postrider/postrider.env /var/lib/postrider')).toBe(
      'root:postrider 640\npostrider:postrider 700\n',
    )
    expect(debian.run('postrider --version')).toMatch(/^1\.0\.0-rc\.1 \(commit [0-9a-f]{40}\)/)
    expect(() => debian.run('setpriv --reuid=nobody --clear-groups postrider tenant list')).toThrow(
      /Try: sudo postrider tenant list/,
    )

    const port = await findFreePort()
    const settings = `POSTRIDER_PORT=${port}\nPOSTRIDER_ALLOW_NETWORKS=127.0.0.0/8   # a mail server of the test\n`
    debian.run(`printf '%s' '${settings}' >> /etc/postrider/postrider.env`)
    const [command, ...args] = debian.argvAs('postrider', lineOf('ExecStartPre'))
    expect(execFileSync(command, args, { encoding: 'utf8' })).toContain('Fit to run.')

    const smtp = await createSmtpServer()
    cleanups.push(() => smtp.close())
    let service = await start()
    const [key = ''] = /\bpr_[\w-]+/.exec(await service.waitForLine(/\bpr_/)) ?? []
    const call = async (path: string, body: object) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(await response.text()).toMatch(response.ok ? /./ : 'accepted')
    }
    const send = () =>
      call('/v1/email/send', {
        from: { email: 'me@example.com' },
        to: [{ email: 'you@example.com' }],
        subject: 'Hello',
        content: [{ type: 'text/plain', value: 'It works.' }],
      })
    await call('/v1/smtp', {
      ...{ name: 'Local', email: 'me@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    await send()
    await expect.poll(() => smtp.messages.length).toBe(1)
    const dashboard = await fetch(`http://127.0.0.1:${port}/app/`)
    expect(dashboard.status).toBe(200)
    expect(debian.run('postrider tenant list')).toContain('default')

    expect(install(second)).toContain('Unpacking postrider (1.0.0) over (1.0.0~rc.1)')
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(debian.run('cat /etc/postrider/postrider.env')).toContain(settings)
    service = await start()
    await send()
    await expect.poll(() => smtp.messages.length).toBe(2)
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })

    debian.run('dpkg -r postrider')
    expect(debian.run('ls /usr/lib/postrider /usr/bin/postrider 2>&1 || true')).not.toContain(
      'node\n',
    )
    expect(debian.run('ls /etc/postrider /var/lib/postrider')).toMatch(
      /postrider\.env[\s\S]*postgres/,
    )
    expect(debian.run('dpkg -P postrider')).toContain('rm -r /var/lib/postrider')
    expect(debian.run('ls -d /etc/postrider 2>&1 || true')).toContain('No such file')
    expect(debian.run('ls /var/lib/postrider')).toContain('postgres')
  })
})

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
