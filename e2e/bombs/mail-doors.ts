/** Doors that are mail: what is sent for a tenant, what its servers say, and what is received. */
import { createRawClient, firstLineBombs, type KnownBomb, signatureBombs } from '@postrider/testkit'
import { bombInputs } from './bomb-inputs.ts'
import { createSending } from './create-sending.ts'
import { type Door, type DoorDeps, KIB, SEVERAL } from './door.ts'
import { createReceiving } from './receiving.ts'
import { latin1 } from './send-http.ts'

export async function openMailDoors(deps: DoorDeps): Promise<readonly Door[]> {
  return [
    await contentDoor(deps),
    await replyDoor(deps),
    commandDoor(deps),
    await receivedDoor(deps),
  ]
}

/** HTML, templates, names and subjects of emails that are rendered, looked at and sent. */
async function contentDoor(deps: DoorDeps): Promise<Door> {
  const { addMailer, send, settle } = await createSending(deps)
  const from = 'news@sender.test'
  await addMailer(from)
  return {
    name: 'the content of an email',
    atOnce: SEVERAL,
    inputs: bombInputs(['html', 'liquid', 'address list'], 128 * KIB),
    enter(text) {
      const value = latin1(text).toString('utf8').replaceAll('\0', '')
      const isTemplate = text.includes('{{') || text.includes('{%')
      const settings = { click_tracking: true, open_tracking: true, max_attempts: 1 }
      const more = isTemplate
        ? { template_data: { a: { b: 'c' }, b: [1, 2] }, settings: { max_attempts: 1 } }
        : { settings }
      return send(from, { name: value.replaceAll(/\p{C}/gu, ' '), value, more })
    },
    settle,
  }
}

/** What a tenant's mail server says, at each step of a transaction. A mailer that fails is left alone. */
async function replyDoor(deps: DoorDeps): Promise<Door> {
  const { smtp, addMailer, send, settle } = await createSending(deps)
  let n = 0
  return {
    name: 'replies of a mail server',
    inputs: bombInputs(['smtp reply'], 60 * KIB),
    async enter(text) {
      const lines = latin1(text).toString('latin1').split('\n')
      const raw = latin1(lines.map((line) => `${line.slice(0, 8_000)}\r\n`).join(''))
      n += 1
      const phase = (['mail', 'rcpt', 'data', 'ehlo'] as const)[n % 4]
      const from = `news${n}@sender.test`
      smtp.setScript(undefined)
      await addMailer(from)
      let isGiven = false
      smtp.setScript((context) => {
        if (context.phase !== phase) return undefined
        isGiven = true
        return { raw, ending: 'fin' }
      })
      await send(from, { value: 'a', more: { settings: { max_attempts: 1 } } })
      await settle()
      return isGiven
    },
  }
}

function commandDoor({ world }: DoorDeps): Door {
  return {
    name: 'commands to the SMTP listener',
    atOnce: SEVERAL,
    inputs: bombInputs(['smtp command'], 64 * KIB),
    async enter(text) {
      const client = createRawClient(world.service().inboundPort ?? 0)
      await client.see(/^220 .*\r\n/)
      await client.ask('EHLO a')
      client.send(latin1(`${text}\r\nQUIT\r\n`))
      client.socket.end()
      await client.end()
      client.close()
      return /^[2345]\d\d[ -]/.test(client.unread())
    },
  }
}

async function receivedDoor(deps: DoorDeps): Promise<Door> {
  const { deliver, settle } = await createReceiving(deps)
  const known = (kind: string, bombs: readonly KnownBomb[]) =>
    bombs.map(({ name, text }) => ({
      kind,
      name,
      text: `${text}\r\nFrom: a@sender.test\r\n\r\n${name}\r\n`,
    }))
  const generated = bombInputs(
    [
      'mime message',
      'header block',
      'delivery report',
      'complaint',
      'informal bounce',
      'authentication header',
    ],
    100 * KIB,
  )
  return {
    name: 'received mail',
    atOnce: SEVERAL,
    inputs: (o) => [
      ...generated(o),
      ...known('known signatures', signatureBombs),
      ...known('known first lines', firstLineBombs),
    ],
    enter: (text) => deliver(text),
    settle,
  }
}
