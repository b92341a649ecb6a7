/**
 * Folders with very many messages are listed and searched in pieces, and nothing is passed over
 * (docs/reference/inbound.md#mailboxes).
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createMailboxBench, type MailboxBench, mail } from '../../../test/mailboxes.ts'

let bench: MailboxBench
beforeAll(async () => {
  bench = await createMailboxBench()
})
afterEach(() => bench.clear())
afterAll(() => bench.close())

const OLD = { internalDate: new Date(Date.now() - 7 * 86_400_000) }
const SINCE = new Date(Date.now() - 3_600_000)
const isListing = (line: string) => line.includes('RFC822.SIZE')
const deliverOld = (count: number) => {
  for (let n = 0; n < count; n++) bench.server.deliver('INBOX', 'Subject: old\r\n\r\n', OLD)
}

it('[B6] lists few more messages than it fetches', async () => {
  deliverOld(25_000)
  bench.server.deliver('INBOX', mail(1))
  const rows: number[] = []
  bench.server.setScript(({ command, line, answer }) => {
    if (command === 'UID FETCH' && isListing(line)) rows.push(answer.length - 1)
    // Then all of them are listed.
    return command === 'UID SEARCH' ? 'NO not now' : undefined
  })
  await bench.add({ since: SINCE })
  await bench.watch()
  await bench.untilSubjects('mail 1')
  expect(rows.slice(0, 3)).toEqual([10_001, 10_001, 5_001])
}, 60_000)

it('[B6] reports the first messages of a server that lists the last ones first', async () => {
  bench.server.deliver('INBOX', mail('first'))
  deliverOld(12_000)
  bench.server.deliver('INBOX', mail('last'))
  bench.server.setScript(({ command, line, answer }) => {
    if (command === 'UID SEARCH') return 'NO not now'
    if (command !== 'UID FETCH' || !isListing(line)) return undefined
    const [done, ...rows] = answer.toReversed()
    return { piecesMax: 0, raw: Buffer.concat([...rows, ...(done === undefined ? [] : [done])]) }
  })
  await bench.add({ since: SINCE })
  await bench.watch()
  await bench.untilSubjects('mail first', 'mail last')
}, 60_000)

it('[B6] crosses large gaps in the numbers in a few steps', async () => {
  deliverOld(10_001)
  bench.server.setScript(({ command, answer }) => {
    if (command === 'UID SEARCH') return 'NO not now'
    if (command !== 'UID FETCH') return undefined
    const far = (one: Buffer) =>
      Buffer.from(one.toString('latin1').replace('(UID 10002 ', '(UID 4000000000 '), 'latin1')
    return { piecesMax: 0, raw: Buffer.concat(answer.map(far)) }
  })
  bench.server.deliver('INBOX', mail(1))
  await bench.add({ since: SINCE })
  await bench.watch()
  const dealtWith = async () =>
    (await bench.database.db.query<{ last_uid: string }>('select last_uid from mailboxes_folder'))
      .rows[0]?.last_uid
  await bench.until(dealtWith, (uid) => uid === '4000000000')
  expect(bench.server.count('UID FETCH')).toBeLessThan(20)
}, 60_000)

it('[B6] divides a search with more hits than a line may hold', async () => {
  bench.server.deliver('INBOX', mail(1), { internalDate: new Date(SINCE.getTime() + 1_000) })
  bench.server.account().lie('INBOX', { exists: 100_000 })
  bench.server.setScript(({ command, line, answer }) => {
    if (command !== 'UID SEARCH') return undefined
    const [, from = '1', to = '*'] = / (\d+):(\d+|\*)/.exec(line) ?? []
    const count = (to === '*' ? 100_000 : Number(to)) - Number(from) + 1
    const uids = Array.from({ length: count }, (_, n) => 1_000_000_000 + Number(from) + n)
    const found = `* SEARCH ${from === '1' ? '1 ' : ''}${uids.join(' ')}\r\n`
    return { piecesMax: 0, raw: Buffer.concat([Buffer.from(found), ...answer.slice(-1)]) }
  })
  await bench.add({ since: SINCE })
  await bench.watch()
  await bench.untilSubjects('mail 1')
  expect(await bench.events()).toEqual([])
})
