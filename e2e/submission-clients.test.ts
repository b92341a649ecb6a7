/** Programs that other people wrote hand in mail: each logs in with a key, and its mail arrives once. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createPostfix, postfixHindrance } from '@postrider/testkit/mail-servers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sendSmtpTo } from './send-smtp.ts'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  lines,
  type SubmissionScene,
  type SubmissionWorld,
} from './submission-scene.ts'
import { certificate } from './world.ts'

const run = promisify(execFile)
/** A dependency of the mail package, here as a program of others. */
const NODEMAILER: string = 'nodemailer'
const PROGRAM_MS = 60_000
const PYTHON = '/usr/bin/python3'
const WORDPRESS = '/usr/local/lib/postrider-wordpress/usr/share/wordpress/wp-includes/PHPMailer'
const SYMFONY = '/usr/share/php/Symfony/Component/Mailer/autoload.php'

/** Why a program cannot be tried here; it is told loudly. */
function unless(isThere: boolean, what: string): boolean {
  if (!isThere) process.stderr.write(`SKIPPED, submission by ${what}: it is not installed\n`)
  return !isThere
}

let world: SubmissionWorld
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-clients-'))
  world = await createSubmissionWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  rmSync(folder, { recursive: true, force: true })
})

/** The mail that arrived, once, for the recipient alone. */
async function arrived({ smtp }: SubmissionScene, to: string): Promise<string> {
  const [sent, ...others] = await smtp.waitForMessages(1)
  expect(others).toEqual([])
  expect(sent?.recipients).toEqual([to])
  return sent?.raw.toString() ?? ''
}

function program(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('[contract 8] mail by', () => {
  it.each([
    ['STARTTLS', { requireTLS: true }],
    ['TLS from the first byte', { secure: true }],
  ])('nodemailer over %s', async (_what, how) => {
    const scene = await createScene(world)
    const { default: nodemailer } = await import(NODEMAILER)
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: 'secure' in how ? world.tlsPort : world.port,
      ...how,
      tls: { rejectUnauthorized: false },
      auth: { user: 'postrider', pass: scene.apiKey },
    })
    const sent = await transport.sendMail({
      from: `News <${FROM}>`,
      to: 'ada@example.test',
      subject: 'Grüße',
      text: 'Hello Ada',
      html: '<p>Hello Ada</p>',
      attachments: [{ filename: 'a.txt', content: 'abc' }],
      headers: { 'X-Postrider-Args': JSON.stringify({ name: 'Grüße', list: 'x'.repeat(200) }) },
    })
    transport.close()
    const refId = /queued as (\w+)/.exec(sent.response)?.[1] ?? ''
    const raw = await arrived(scene, 'ada@example.test')
    expect(raw).toContain(`Message-ID: ${sent.messageId}`)
    expect(raw).not.toMatch(/x-postrider/i)
    const { email } = await scene.client.getEmail(refId)
    expect(email.custom_args).toEqual({ name: 'Grüße', list: 'x'.repeat(200) })
    const { content } = await scene.client.getEmailContent(refId)
    expect(content.attachments).toMatchObject([{ filename: 'a.txt', size: 3 }])
  })

  it.skipIf(unless(existsSync('/usr/bin/swaks'), 'swaks'))('swaks', async () => {
    const scene = await createScene(world)
    const server = `127.0.0.1:${world.port}`
    const { stdout } = await run(
      '/usr/bin/swaks',
      [
        '--server',
        server,
        '--auth',
        'LOGIN',
        '--auth-user',
        'me',
        '--pipeline',
        '--auth-password',
        scene.apiKey,
        '--from',
        FROM,
        '--to',
        'ada@example.test',
      ],
      { timeout: PROGRAM_MS },
    )
    expect(stdout).toMatch(/250 2\.0\.0 Ok: queued as \w{26}/)
    expect(await arrived(scene, 'ada@example.test')).toContain('This is a test mailing')
  })

  it.skipIf(unless(existsSync(PYTHON), 'Python'))('smtplib, with an address in UTF-8', async () => {
    const scene = await createScene(world)
    const script = program(
      'send.py',
      `import os, smtplib
from email.message import EmailMessage
m = EmailMessage()
m["From"] = "News <${FROM}>"
m["To"] = "jörg@example.test"
m["Subject"] = "Hello"
m.set_content("Hello Jörg\\n.\\n..dots\\n")
with smtplib.SMTP("127.0.0.1", ${world.port}) as s:
    s.starttls()
    s.login("any", os.environ["KEY"])
    s.send_message(m)
`,
    )
    await run(PYTHON, [script], { timeout: PROGRAM_MS, env: { KEY: scene.apiKey } })
    expect(await arrived(scene, 'jörg@example.test')).toContain('To: jörg@example.test')
  })

  it.skipIf(unless(existsSync('/usr/lib/python3/dist-packages/django'), 'Django'))(
    'Django',
    async () => {
      const scene = await createScene(world)
      const script = program(
        'send_django.py',
        `import os
from django.conf import settings
settings.configure(EMAIL_HOST="127.0.0.1", EMAIL_PORT=${world.port}, EMAIL_HOST_USER="any", EMAIL_HOST_PASSWORD=os.environ["KEY"], EMAIL_USE_TLS=True)
from django.core.mail import EmailMultiAlternatives
m = EmailMultiAlternatives("Hello", "Hello Ada", "${FROM}", ["ada@example.test"])
m.attach_alternative("<p>Hello Ada</p>", "text/html")
m.send()
`,
      )
      await run(PYTHON, [script], { timeout: PROGRAM_MS, env: { KEY: scene.apiKey } })
      expect(await arrived(scene, 'ada@example.test')).toContain('multipart/alternative')
    },
  )

  it.skipIf(unless(existsSync(SYMFONY), 'Symfony Mailer'))('Symfony Mailer', async () => {
    const scene = await createScene(world)
    const script = program(
      'send.php',
      `<?php
require '${SYMFONY}';
$dsn = 'smtp://any:' . rawurlencode(getenv('KEY')) . '@127.0.0.1:${world.port}?verify_peer=0';
$mail = (new Symfony\\Component\\Mime\\Email())->from('${FROM}')->to('ada@example.test')->bcc('bob@example.test')
  ->subject('Hello')->text('Hello Ada')->html('<p>Hello Ada</p>');
(new Symfony\\Component\\Mailer\\Mailer(Symfony\\Component\\Mailer\\Transport::fromDsn($dsn)))->send($mail);
`,
    )
    await run('php', [script], { timeout: PROGRAM_MS, env: { ...process.env, KEY: scene.apiKey } })
    const sent = await scene.smtp.waitForMessages(2)
    expect(sent.flatMap(({ recipients }) => recipients).sort()).toEqual([
      'ada@example.test',
      'bob@example.test',
    ])
    for (const { raw } of sent) expect(raw.toString()).not.toContain('bob@')
  })

  it.skipIf(unless(existsSync(WORDPRESS), 'PHPMailer'))("WordPress's PHPMailer", async () => {
    const scene = await createScene(world)
    const script = program(
      'wordpress.php',
      `<?php
foreach (['Exception', 'PHPMailer', 'SMTP'] as $name) require "${WORDPRESS}/$name.php";
$mail = new PHPMailer\\PHPMailer\\PHPMailer(true);
$mail->isSMTP();
$mail->Host = '127.0.0.1';
$mail->Port = ${world.tlsPort};
$mail->SMTPSecure = 'ssl';
$mail->SMTPAuth = true;
$mail->Username = 'any';
$mail->Password = getenv('KEY');
$mail->SMTPOptions = ['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]];
$mail->setFrom('${FROM}', 'The site');
$mail->addAddress('ada@example.test');
$mail->Subject = 'Hello';
$mail->Body = 'Hello Ada';
$mail->send();
`,
    )
    await run('php', [script], { timeout: PROGRAM_MS, env: { ...process.env, KEY: scene.apiKey } })
    expect(await arrived(scene, 'ada@example.test')).toContain('X-Mailer: PHPMailer')
  })

  it.skipIf(unless(existsSync('/usr/bin/msmtp'), 'msmtp'))('msmtp', async () => {
    const scene = await createScene(world)
    const child = run(
      '/usr/bin/msmtp',
      [
        '--host=127.0.0.1',
        `--port=${world.port}`,
        '--auth=plain',
        '--user=any',
        '--tls=on',
        '--tls-certcheck=off',
        '--passwordeval=printenv KEY',
        `--from=${FROM}`,
        '--read-recipients',
      ],
      { timeout: PROGRAM_MS, env: { ...process.env, KEY: scene.apiKey } },
    )
    child.child.stdin?.end(`From: ${FROM}\nTo: ada@example.test\nSubject: Hello\n\nHello Ada\n`)
    await child
    expect(await arrived(scene, 'ada@example.test')).toContain('Subject: Hello\r\n')
  })

  const hindrance = postfixHindrance()
  if (hindrance !== undefined)
    process.stderr.write(`SKIPPED, submission by Postfix: ${hindrance}\n`)
  it.skipIf(hindrance !== undefined)(
    'Postfix as a smarthost, which logs in and keeps what is refused for now',
    { timeout: 120_000 },
    async () => {
      const scene = await createScene(world)
      const operator = world.operator()
      await operator.updateTenant(scene.tenantId, { quotas: { queued_max: 0 } })
      const postfix = await createPostfix(certificate, {
        relayPort: world.port,
        relayLogin: { user: 'any', password: scene.apiKey },
      })
      postfix.start()
      try {
        const raw = lines(`From: ${FROM}`, 'Message-ID: <1@a.test>', 'Date: x', '', 'Hello')
        const to = ['ada@relayed.test']
        await sendSmtpTo(postfix.port, { from: FROM, to, raw })
        await expect.poll(() => postfix.log(), { timeout: PROGRAM_MS }).toMatch(/452 4\.3\.1/)
        await operator.updateTenant(scene.tenantId, { quotas: { queued_max: 10 } })
        postfix.flush()
        await expect
          .poll(() => postfix.log(), { timeout: PROGRAM_MS })
          .toMatch(/status=sent \(250 2\.0\.0 Ok: queued as/)
        const got = await arrived(scene, 'ada@relayed.test')
        expect(got).toMatch(/^Received: from client\.test/)
        expect(got.endsWith(raw)).toBe(true)
      } finally {
        await postfix.destroy()
      }
    },
  )
})
