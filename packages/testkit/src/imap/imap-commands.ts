/**
 * The answers by the book to what a client may ask once it is logged in (RFC 3501 §6.3 and §6.4),
 * without effect: what a command changes is done by `carryOut`, once it has been answered so.
 */
import type { ImapAccount, ImapFolder } from './imap-account.ts'
import { compileSearch } from './imap-search.ts'
import { type ImapToken, itemsOf, quote, textOf } from './imap-syntax.ts'
import { type ImapView, openImapView } from './imap-view.ts'

export interface ImapReply {
  readonly untagged?: readonly (string | Buffer)[]
  /** Without its tag. */
  readonly reply: string
  readonly carryOut?: () => void
}

/** What a command may look at and change. */
export interface ImapState {
  readonly account: ImapAccount
  readonly capabilities: readonly string[]
  view: ImapView | undefined
}

type Command = (state: ImapState, arguments_: readonly ImapToken[], isUid: boolean) => ImapReply

const ok = (untagged: readonly (string | Buffer)[] = []): ImapReply => ({
  untagged,
  reply: 'OK done',
})
const missing: ImapReply = { reply: 'NO [NONEXISTENT] no such mailbox' }
const wrong: ImapReply = { reply: 'BAD what is that' }
const unselected: ImapReply = { reply: 'BAD no mailbox is selected' }
const FLAGS = '(\\Answered \\Flagged \\Deleted \\Seen \\Draft)'

export const imapCommands: Readonly<Record<string, Command>> = {
  NAMESPACE: () => ok(['NAMESPACE (("" "/")) NIL NIL']),
  ENABLE: (_state, names) => ok([`ENABLED ${names.map(textOf).join(' ')}`]),
  LIST: (state, names) => list('LIST', state, names),
  LSUB: (state, names) => list('LSUB', state, names),
  CREATE({ account }, [name]) {
    const folder = textOf(name)
    if (account.folders.has(folder)) return { reply: 'NO [ALREADYEXISTS] it is there' }
    return { reply: 'OK done', carryOut: () => account.addFolder(folder) }
  },
  SUBSCRIBE: () => ok(),
  STATUS: status,
  SELECT: (state, [name]) => open(state, textOf(name), 'READ-WRITE'),
  EXAMINE: (state, [name]) => open(state, textOf(name), 'READ-ONLY'),
  CLOSE: leave,
  UNSELECT: leave,
  CHECK: () => ok(),
  FETCH({ view }, [set, ...rest], isUid) {
    if (view === undefined) return unselected
    const responses = view.fetch(textOf(set), isUid, rest)
    return responses === undefined ? { reply: 'BAD an item is not known' } : ok(responses)
  },
  SEARCH({ view }, keys, isUid) {
    if (view === undefined) return unselected
    const isCharset = textOf(keys[0]).toUpperCase() === 'CHARSET'
    const matches = compileSearch(isCharset ? keys.slice(2) : keys)
    if (matches === undefined) return { reply: 'BAD a search key is not known' }
    const found = view.candidates().filter(matches)
    const numbers = found.map((one) => ` ${isUid ? one.message.uid : one.sequence}`)
    return ok([`SEARCH${numbers.join('')}`])
  },
  STORE({ account, view }, [set, how, flags], isUid) {
    if (view === undefined) return unselected
    if (!/^\+FLAGS/i.test(textOf(how))) return wrong
    const { folder } = view
    return {
      reply: 'OK done',
      carryOut() {
        for (const { message } of view.select(textOf(set), isUid))
          account.addFlags(folder, message.uid, itemsOf(flags).map(textOf))
      },
    }
  },
  EXPUNGE({ account, view }, [set], isUid) {
    if (view === undefined) return unselected
    const gone = isUid ? view.select(textOf(set), true) : view.candidates()
    return {
      reply: 'OK done',
      carryOut() {
        for (const { message } of gone)
          if (message.flags.has('\\Deleted')) account.expunge(view.folder, message.uid)
      },
    }
  },
  APPEND(state, [name, ...rest]) {
    const folder = find(state, textOf(name))
    const message = rest.at(-1)
    if (folder === undefined) return { reply: 'NO [TRYCREATE] no such mailbox' }
    if (message?.kind !== 'string') return wrong
    const flags = rest.find((token) => token.kind === 'list')
    const date = rest.slice(0, -1).find((token) => token.kind === 'string')
    const uid = `[APPENDUID ${folder.uidValidity} ${folder.uidNext}] `
    return {
      reply: `OK ${state.capabilities.includes('UIDPLUS') ? uid : ''}done`,
      carryOut() {
        state.account.deliver(folder.name, message.bytes, {
          flags: itemsOf(flags).map(textOf),
          ...(date && { internalDate: new Date(textOf(date)) }),
        })
      },
    }
  },
}

function find({ account }: ImapState, name: string): ImapFolder | undefined {
  return account.folders.get(name.toUpperCase() === 'INBOX' ? 'INBOX' : name)
}

function leave(state: ImapState): ImapReply {
  return {
    reply: 'OK done',
    carryOut() {
      state.view = undefined
    },
  }
}

function open(state: ImapState, name: string, access: string): ImapReply {
  const folder = find(state, name)
  if (folder === undefined) return { ...leave(state), ...missing }
  const { lies, messages } = folder
  return {
    untagged: [
      `FLAGS ${FLAGS}`,
      `OK [PERMANENTFLAGS ${access === 'READ-WRITE' ? FLAGS : '()'}] flags`,
      `${lies.exists ?? messages.length} EXISTS`,
      '0 RECENT',
      `OK [UIDVALIDITY ${lies.uidValidity ?? folder.uidValidity}] valid`,
      `OK [UIDNEXT ${lies.uidNext ?? folder.uidNext}] next`,
      ...(state.capabilities.includes('CONDSTORE')
        ? [`OK [HIGHESTMODSEQ ${folder.highestModseq}] highest`]
        : []),
    ],
    reply: `OK [${access}] selected`,
    carryOut() {
      state.view = openImapView(state.account, folder.name)
    },
  }
}

function status(state: ImapState, [name, wanted]: readonly ImapToken[]): ImapReply {
  const folder = find(state, textOf(name))
  if (folder === undefined) return missing
  const { lies, messages } = folder
  const values: Readonly<Record<string, number>> = {
    MESSAGES: lies.exists ?? messages.length,
    RECENT: 0,
    UIDNEXT: lies.uidNext ?? folder.uidNext,
    UIDVALIDITY: lies.uidValidity ?? folder.uidValidity,
    UNSEEN: messages.filter(({ flags }) => !flags.has('\\Seen')).length,
    HIGHESTMODSEQ: folder.highestModseq,
  }
  const asked = itemsOf(wanted).map((token) => textOf(token).toUpperCase())
  if (asked.some((one) => values[one] === undefined)) return wrong
  const items = asked.map((one) => `${one} ${values[one]}`).join(' ')
  return ok([`STATUS ${quote(folder.name)} (${items})`])
}

function list(
  verb: string,
  { account, capabilities }: ImapState,
  [reference, pattern]: readonly ImapToken[],
): ImapReply {
  const asked = `${textOf(reference)}${textOf(pattern)}`
  if (asked === '') return ok([`${verb} (\\Noselect) "/" ""`])
  const parts = asked.split(/([*%])/).map((part) => {
    if (part === '*') return '.*'
    if (part === '%') return '[^/]*'
    return part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  const isAsked = new RegExp(`^${parts.join('')}$`)
  const isSpecial = capabilities.includes('SPECIAL-USE')
  const folders = [...account.folders.values()].filter(({ name }) => isAsked.test(name))
  return ok(
    folders.map(({ name, specialUse }) => {
      const use = isSpecial && specialUse !== undefined ? ` ${specialUse}` : ''
      return `${verb} (\\HasNoChildren${use}) "/" ${quote(name)}`
    }),
  )
}
