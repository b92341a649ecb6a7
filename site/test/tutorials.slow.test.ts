/** The programs of docs/tutorials as they stand there, against a running service and a mail server. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Postrider } from '@postrider/client'
import {
  createDnsServer,
  findFreePort,
  type RunningProcess,
  type SmtpServer,
  startProcess,
} from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sendSmtpTo } from '../../e2e/send-smtp.ts'
import { createWorld, type World } from '../../e2e/world.ts'
import { filesOfTutorial, writeFiles } from './tutorial-files.ts'

const site = fileURLToPath(new URL('..', import.meta.url))
const builder = fileURLToPath(new URL('../../scripts/build-site.mjs', import.meta.url))
const SECRET = 'a long random value'

let world: World
let dns: Awaited<ReturnType<typeof createDnsServer>>
let smtp: SmtpServer
let client: Postrider
/** Beneath the site's own packages, which the programs import. */
let folder: string
let env: Record<string, string>
let running: RunningProcess[] = []

beforeAll(async () => {
  const install = spawn(process.execPath, [builder, '--install-only'], { stdio: 'inherit' })
  expect(await once(install, 'exit')).toEqual([0, null])
  dns = await createDnsServer()
  world = createWorld({ DNS_SERVERS: dns.address, INBOUND_HOST: 'mx.example.com' })
  await world.start()
  const tenant = await world.newTenant()
  client = tenant.client
  env = { POSTRIDER_URL: world.service().origin, POSTRIDER_KEY: tenant.apiKey }
  smtp = await world.newSmtpServer()
  for (const name of ['accounts', 'support', 'news', 'site', 'shop'])
    await client.configureSMTP({
      ...{ name, email: `${name}@example.com`, config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
}, 240_000)
afterEach(async () => {
  for (const program of running) await program.kill()
  running = []
  smtp.clear()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})
afterAll(async () => {
  await world?.destroy()
  await dns?.close()
})

/** Writes the programs of a tutorial into a folder of their own. */
function open(...tutorials: readonly string[]): void {
  folder = mkdtempSync(join(site, '.tutorial-'))
  for (const tutorial of tutorials) writeFiles(folder, filesOfTutorial(tutorial))
}

async function start(script: string, more: Record<string, string> = {}): Promise<string> {
  const port = String(await findFreePort())
  running.push(
    await startProcess({
      script: join(folder, script),
      env: { ...env, PORT: port, ...more },
      ready: /^listening on/,
    }),
  )
  return `http://127.0.0.1:${port}`
}

/** Throws unless it ends well. */
async function run(command: string, args: readonly string[], more: Record<string, string> = {}) {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env, ...more } })
  const [told, wrong, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${told}${wrong}`)
  return told
}

const load = (file: string) => import(pathToFileURL(join(folder, file)).href)

/** Of a mail whose text is in quoted-printable. */
async function nextMail(): Promise<string> {
  const messages = await smtp.waitForMessages(1)
  return readable(messages[0]?.raw ?? Buffer.alloc(0))
}

function readable(raw: Buffer): string {
  return raw
    .toString('latin1')
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/\r\n[ \t]/g, ' ')
    .replaceAll('=3D', '=')
    .replaceAll('=\r\n', '')
}

function postJson(url: string, body: object, headers: Record<string, string> = {}) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

it("'password-resets-express': the link in the mail works once", async () => {
  open('password-resets-express')
  const app = await start('app.mjs')
  expect((await postJson(`${app}/forgot`, { email: 'nobody@example.com' })).status).toBe(202)
  expect((await postJson(`${app}/forgot`, { email: 'ada@example.com' })).status).toBe(202)
  const mail = await nextMail()
  expect(mail).toMatch(/^From: "?Example"? <accounts@example\.com>/m)
  expect(smtp.messages.map(({ recipients }) => recipients)).toEqual([['ada@example.com']])
  const link = /http:\/\/127\.0\.0\.1:\d+\/reset\?token=[\w-]{43}/.exec(mail)?.[0] ?? ''
  expect(link).toContain(app)
  expect((await postJson(link, {})).status).toBe(200)
  expect((await postJson(link, {})).status).toBe(400)
})

it("'password-resets-next': the route handler answers the same for everybody, and mails the link", async () => {
  open('password-resets-next')
  // The page says so.
  const sendReset = filesOfTutorial('password-resets-express').get('send-reset.mjs') ?? ''
  writeFiles(
    folder,
    new Map([
      ['lib/send-reset.mjs', sendReset],
      ['package.json', '{"type": "module"}'],
    ]),
  )
  const call = `import { POST } from './app/api/forgot/route.js'
for (const email of ['nobody@example.com', 'ada@example.com']) {
  const request = new Request('https://shop.example.com/api/forgot', { method: 'POST', body: JSON.stringify({ email }) })
  const response = await POST(request)
  console.log(response.status, (await response.json()).message)
}`
  writeFileSync(join(folder, 'call.js'), call)
  const told = await run(process.execPath, ['call.js'])
  const same = '202 If you have an account, a link is on its way.\n'
  expect(told).toBe(same + same)
  expect(await nextMail()).toMatch(/https:\/\/shop\.example\.com\/reset\?token=[\w-]{43}/)
  expect(smtp.messages).toHaveLength(1)
})

it("'receive-replies': an answer finds its ticket, and no other program may post one", async () => {
  open('receive-replies')
  const app = await start('replies.mjs', { WEBHOOK_SECRET: SECRET })
  await run('sh', ['route.sh'], { APP_URL: app, WEBHOOK_SECRET: SECRET })
  const { inbound_domain: domain } = await client.getInboundDomain('in.example.com')
  dns.publish(domain.records)
  await expect
    .poll(async () => (await client.getInboundDomain('in.example.com')).inbound_domain.verified)
    .toBe(true)
  await run(process.execPath, ['ask.mjs', '17', 'ada@example.com'])
  expect(await nextMail()).toMatch(/^Reply-To: .*ticket\+17@in\.example\.com/im)
  const raw = [
    ...[
      'From: Ada <ada@example.com>',
      'To: ticket+17@in.example.com',
      'Subject: Re: Your question',
    ],
    ...['Message-ID: <answer-1@example.com>', '', 'Yes, thank you.', '', '> Does it work now?', ''],
  ].join('\r\n')
  await sendSmtpTo(world.service().inboundPort ?? 0, {
    ...{ from: 'ada@example.com', to: ['ticket+17@in.example.com'], raw },
  })
  const line = await running[0]?.waitForLine(/^ticket/)
  expect(line).toMatch(/^ticket 17, ada@example\.com, dmarc \w+: Yes, thank you\.$/)
  expect((await postJson(app, { event: 'INCOMING_EMAIL' })).status).toBe(401)
})

it("'move-from-sendgrid': from-sendgrid.mjs keeps every field of the table", async () => {
  open('move-from-sendgrid')
  const { fromSendGrid, send } = await load('from-sendgrid.mjs')
  const mail = {
    personalizations: [
      {
        to: [{ email: 'ada@example.com', name: 'Ada' }],
        bcc: [{ email: 'archive@example.com' }],
        custom_args: { order: '17' },
      },
      { to: [{ email: 'bob@example.com' }], subject: 'For Bob', headers: { 'X-Shop': '2' } },
    ],
    from: { email: 'shop@example.com', name: 'Shop' },
    reply_to: { email: 'help@example.com' },
    subject: 'Your order',
    content: [{ type: 'text/plain', value: 'On its way.' }],
    headers: { 'X-Shop': '1' },
    categories: ['orders'],
    attachments: [{ filename: 'a.txt', type: 'text/plain', content: 'VGVh' }],
    tracking_settings: { open_tracking: { enable: false }, click_tracking: { enable: false } },
  }
  const [first, second] = fromSendGrid(mail)
  expect(first).toMatchObject({
    replyTo: { email: 'help@example.com' },
    custom_args: { order: '17' },
    campaign_id: 'orders',
    headers: { 'X-Shop': '1' },
    settings: { open_tracking: false, click_tracking: false },
  })
  expect(second).toMatchObject({ subject: 'For Bob', headers: { 'X-Shop': '2' } })
  expect(fromSendGrid({ ...mail, send_at: 1_800_000_000 })[0].send_at).toBe(
    '2027-01-15T08:00:00.000Z',
  )
  const ids = await send(mail, { url: env.POSTRIDER_URL, key: env.POSTRIDER_KEY })
  expect(ids).toHaveLength(2)
  const messages = await smtp.waitForMessages(3)
  const toBob = messages.find(({ recipients }) => recipients.includes('bob@example.com'))
  expect(readable(toBob?.raw ?? Buffer.alloc(0))).toMatch(/^Subject: For Bob/m)
})

it("'move-from-sendgrid': import.sh takes a list of bounces along", async () => {
  open('move-from-sendgrid')
  writeFileSync(
    join(folder, 'bounces.csv'),
    'status,reason,email,created\n5.1.1,550 No such user,joe@example.com,1732107662\n',
  )
  expect(JSON.parse(await run('sh', ['import.sh']))).toMatchObject({ success: true })
  const { suppression } = await client.getSuppression('joe@example.com')
  expect(suppression).toMatchObject({ reason: 'bounced' })
})

it("'move-from-postal': from-postal.mjs keeps every field of the table, and import.sh the list", async () => {
  open('move-from-postal')
  const { fromPostal, send } = await load('from-postal.mjs')
  const message = {
    to: ['Ada <ada@example.com>', 'bob@example.com'],
    from: '"Shop, Ltd" <shop@example.com>',
    reply_to: 'help@example.com',
    subject: 'Your order',
    plain_body: 'On its way.',
    html_body: '<p>On its way.</p>',
    headers: { 'X-Shop': '1' },
    tag: 'orders',
    attachments: [{ name: 'a.txt', content_type: 'text/plain', data: 'VGVh' }],
  }
  expect(fromPostal(message)).toEqual({
    from: { email: 'shop@example.com', name: 'Shop, Ltd' },
    to: [{ email: 'ada@example.com', name: 'Ada' }, { email: 'bob@example.com' }],
    replyTo: { email: 'help@example.com' },
    subject: 'Your order',
    content: [
      { type: 'text/plain', value: 'On its way.' },
      { type: 'text/html', value: '<p>On its way.</p>' },
    ],
    headers: { 'X-Shop': '1' },
    campaign_id: 'orders',
    attachments: [{ filename: 'a.txt', type: 'text/plain', content: 'VGVh' }],
  })
  await send(message, { url: env.POSTRIDER_URL, key: env.POSTRIDER_KEY })
  await smtp.waitForMessages(2)
  writeFileSync(join(folder, 'suppressions.csv'), 'email\nlee@example.com\n')
  expect(JSON.parse(await run('sh', ['import.sh']))).toMatchObject({ success: true })
  await expect(client.getSuppression('lee@example.com')).resolves.toBeDefined()
})

it("'listmonk': messenger.mjs sends a message of a campaign once, and asks for the password", async () => {
  open('listmonk')
  const messenger = await start('messenger.mjs', { MESSENGER_PASSWORD: 'secret' })
  const message = {
    subject: 'News',
    body: '<p>Tea is here.</p>',
    content_type: 'richtext',
    recipients: [
      {
        ...{ uuid: '5a4f3b0e-0000-4000-8000-000000000001', email: 'ada@example.com', name: 'Ada' },
        ...{ attribs: {}, status: 'enabled' },
      },
    ],
    campaign: { uuid: '5a4f3b0e-0000-4000-8000-000000000002', name: 'Autumn', tags: [] },
  }
  expect((await postJson(messenger, message)).status).toBe(401)
  const authorization = `Basic ${Buffer.from('listmonk:secret').toString('base64')}`
  for (const _ of [1, 2])
    expect((await postJson(messenger, message, { authorization })).status).toBe(200)
  expect(await nextMail()).toContain('Tea is here.')
  const { logs } = await client.getEmailLogs({ campaignId: message.campaign.uuid })
  expect(logs).toHaveLength(1)
})

const python = '/usr/bin/python3'
const hasDjango = spawnSync(python, ['-c', 'import django']).status === 0
describe.skipIf(!hasDjango)(`Django ${hasDjango ? '' : 'SKIPPED: install python3-django'}`, () => {
  it("'password-resets-django': Django's own password reset goes through shop/postrider.py", async () => {
    open('password-resets-django')
    const project = `
import django
from django.conf import settings
from shop import mail_settings

names = [name for name in dir(mail_settings) if name.isupper()]
settings.configure(
    SECRET_KEY="x", ROOT_URLCONF="django.contrib.auth.urls", USE_TZ=True,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.admin", "django.contrib.messages", "django.contrib.sessions"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    **{name: getattr(mail_settings, name) for name in names},
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.core.mail import EmailMultiAlternatives, send_mail
User.objects.create_user("ada", "ada@example.com", "old")
form = PasswordResetForm({"email": "ada@example.com"})
assert form.is_valid()
form.save(domain_override="shop.example.com", use_https=True)
message = EmailMultiAlternatives("Invoice", "Attached.", to=["Bob <bob@example.com>"], cc=["kim@example.com"], reply_to=["help@example.com"])
message.attach_alternative("<p>Attached.</p>", "text/html")
message.attach("invoice.txt", "Total: 12", "text/plain")
assert message.send() == 1
try:
    send_mail("No mailer", "x", "unknown@example.com", ["ada@example.com"])
except Exception as error:
    print(type(error).__name__, error)
`
    writeFileSync(join(folder, 'project.py'), project)
    expect(await run(python, ['project.py'])).toMatch(/^PostriderError no_mailer: /)
    const messages = (await smtp.waitForMessages(3)).map(({ recipients, raw }) => ({
      recipients,
      mail: readable(raw),
    }))
    const of = (address: string) =>
      messages.find(({ recipients }) => recipients.includes(address))?.mail ?? ''
    expect(of('ada@example.com')).toMatch(/https:\/\/shop\.example\.com\/reset\/\w+\/[\w-]+\//)
    expect(of('ada@example.com')).toMatch(/^From: "?Example"? <accounts@example\.com>/m)
    expect(of('bob@example.com')).toMatch(/^Reply-To: .*help@example\.com/im)
    expect(of('bob@example.com')).toContain('invoice.txt')
  })
})

const symfony = '/usr/share/php/Symfony/Component/Mailer/autoload.php'
const hasPhp = existsSync('/usr/bin/php') && existsSync(symfony)
const unpacked = '/usr/local/lib/postrider-wordpress'
const wordpress = `${unpacked}/usr/share/wordpress`
const hasWordPress = existsSync(wordpress)
const php = hasPhp ? '' : 'SKIPPED: install php-cli php-symfony-mailer php-guzzlehttp-guzzle'
describe.skipIf(!hasPhp)(`PHP ${php}`, () => {
  it("'password-resets-laravel': app/Mail/PostriderTransport.php sends, and names a refusal", async () => {
    open('password-resets-laravel')
    const program = `<?php
require '${symfony}';
require '/usr/share/php/GuzzleHttp/autoload.php';
require __DIR__ . '/app/Mail/PostriderTransport.php';
use Symfony\\Component\\Mailer\\Mailer;
use Symfony\\Component\\Mime\\Email;
$mailer = new Mailer(new App\\Mail\\PostriderTransport(getenv('POSTRIDER_URL'), getenv('POSTRIDER_KEY')));
$mailer->send((new Email())->from('Example <accounts@example.com>')->to('Ada <ada@example.com>')
    ->replyTo('help@example.com')->subject('Reset your password')
    ->text('https://shop.example.com/reset')->html('<p>https://shop.example.com/reset</p>')
    ->attach('Total: 12', 'invoice.txt', 'text/plain'));
try {
    $mailer->send((new Email())->from('unknown@example.com')->to('ada@example.com')->subject('x')->text('x'));
} catch (Exception $error) {
    echo get_class($error), ' ', $error->getMessage();
}
`
    writeFileSync(join(folder, 'send.php'), program)
    expect(await run('php', ['-d', 'error_reporting=E_ALL & ~E_DEPRECATED', 'send.php'])).toMatch(
      /TransportException no_mailer: /,
    )
    const mail = await nextMail()
    expect(mail).toMatch(/^Subject: Reset your password/m)
    expect(mail).toMatch(/^Reply-To: .*help@example\.com/im)
    expect(mail).toContain('https://shop.example.com/reset')
    expect(mail).toContain('invoice.txt')
  })

  it.skipIf(!hasWordPress)(
    `'wordpress': wp_mail goes through postrider.php ${hasWordPress ? '' : `SKIPPED: unpack wordpress into ${unpacked}`}`,
    async () => {
      open('wordpress')
      const parts = [
        ...[
          'compat',
          'load',
          'plugin',
          'functions',
          'formatting',
          'kses',
          'l10n',
          'class-wp-error',
        ],
        ...['link-template', 'general-template', 'class-wp-http', 'class-wp-http-streams'],
        ...['class-wp-http-curl', 'class-wp-http-proxy', 'class-wp-http-cookie'],
        ...['class-wp-http-encoding', 'class-wp-http-response', 'class-wp-http-requests-response'],
        ...['class-wp-http-requests-hooks', 'http', 'pluggable'],
      ]
      // WordPress without its database: every option has one value.
      const program = `<?php
define('ABSPATH', '${wordpress}/');
define('WPINC', 'wp-includes');
define('WP_CONTENT_DIR', ABSPATH . 'wp-content');
define('WP_DEBUG', false);
foreach (explode(' ', '${parts.join(' ')}') as $name) require_once ABSPATH . WPINC . "/$name.php";
add_filter('pre_option', fn ($value, $name) => ['blog_charset' => 'UTF-8'][$name] ?? 'https://site.example.com', 10, 2);
define('POSTRIDER_URL', getenv('POSTRIDER_URL'));
define('POSTRIDER_KEY', getenv('POSTRIDER_KEY'));
define('POSTRIDER_FROM', 'Example <site@example.com>');
require __DIR__ . '/wp-content/mu-plugins/postrider.php';
file_put_contents(__DIR__ . '/invoice.txt', 'Total: 12');
$headers = ['Content-Type: text/html; charset=UTF-8', 'Reply-To: help@example.com'];
echo json_encode([
    wp_mail('ada@example.com, Bob <bob@example.com>', 'Hello', '<p>It works.</p>', $headers, [__DIR__ . '/invoice.txt']),
    wp_mail('ada@example.com', 'No mailer', 'x', "From: unknown@example.com"),
]);
`
      writeFileSync(join(folder, 'send.php'), program)
      const told = await run('php', [
        '-d',
        'error_reporting=E_ALL & ~E_DEPRECATED',
        '-d',
        'error_log=/dev/null',
        'send.php',
      ])
      expect(told).toBe('[true,false]')
      const messages = await smtp.waitForMessages(2)
      expect(messages.flatMap(({ recipients }) => recipients).toSorted()).toEqual([
        'ada@example.com',
        'bob@example.com',
      ])
      const mail = readable(messages[0]?.raw ?? Buffer.alloc(0))
      expect(mail).toMatch(/^From: "?Example"? <site@example\.com>/m)
      expect(mail).toContain('<p>It works.</p>')
      expect(mail).toContain('invoice.txt')
    },
  )
})
