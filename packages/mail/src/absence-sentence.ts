/**
 * Sentences that say that a recipient is missing and nothing else, in any order of words: `account not exist`,
 * `there is nobody named like this here`. Every word has to be of a small vocabulary. So a word of another cause
 * (quota, sender, policy) makes the sentence unknown, also one that nobody thought of. Read in reply-text.ts's form.
 */

export const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))

/** One recipient. Several, as in `no valid recipients`, are nobody in particular. */
const RECIPIENT = setOf(
  `user username userid mailbox mail-box mbox inbox account address addr addressee recipient rcpt alias person
  customer subscriber employee student mailaddress emailaddress email-address mailid emailid maildrop mailaddr
  emailaddr localpart local-part nobody noone anybody anyone forwarder mailuser`,
)
const MISSING = setOf(
  `unknown invalid nonexistent non-existent inexistent nonexistant non-existant inexistant nonexisting
  non-existing undefined unrecognized unrecognised unregistered wrong incorrect illegal obsolete defunct
  mistyped misspelled misspelt notfound gone deceased unresolvable unroutable unrouteable non-local`,
)
const NOT = setOf(
  `not no doesn't don't didn't isn't wasn't can't cannot couldn't hasn't never dont doesnt didnt isnt wasnt cant
  couldnt unable nobody noone`,
)
const PRESENT = setOf(
  `exist exists existed existing existent find found known know knows registered recognized recognised recognize
  recognise located locate listed present defined created provisioned assigned allocated identified identify such
  here there belong belongs valid heard`,
)
/** Of one thing with another: `name and address do not match`. */
const MATCH = setOf('match matches matched matching')
const ANY = setOf('any no nobody noone anybody')
/** Says nothing by itself. */
const BETWEEN = setOf(
  `a an and any are be been being by called can could did do does e-mail email got had has have i i'm id
  in is it it's like local longer mail more anymore name named of on one or our own please recipient's so sorry
  specified that the their them these they this unfortunately user's virtual was we were which who with you're
  within actually apparently given entered destination smtp current currently-known real final`,
)
/** Between `no` and whom there is none of: `not a valid user`, `have no such local mailbox`. */
const OF_RECIPIENT = setOf(
  'a an any such have has got valid known local virtual mail email e-mail our own real existing registered destination smtp',
)
const PREFACE = setOf(
  'permanent fatal hard soft delivery error failure failed smtp mail sorry status reason',
)
/** Where: `at this server`, `on our mail system`, `in the organization`. */
const PLACE =
  /\b(?:(?:in|on|at|of|by|with) )?(?:this|our|the|that|local) (?:(?:local|mail|e-?mail|smtp|virtual) )?(?:system|server|host|domain|machine|site|service|network|organi[sz]ation|company|school|university|institution|table|directory|database|location)\b/g
/** A command without a recipient, and what is missing in a mailbox. */
const NAMES_NOBODY =
  /\bno (?:(?:valid|recipient|mail|email|e-mail|user) )?(?:user|username|userid|recipient|rcpt|address|mailbox|account)(?: name)?(?: was| is)? (?:given|specified|entered)\b|\b(?:in|within) (?:(?:the|this|that|an?|any) )?(?:mail-?box|mbox|inbox|account)\b/
const WORDS_MAX = 24

/** @returns the words that say it; undefined where any word may be of another matter */
export function findAbsence(sentences: string): string | undefined {
  const clauses = sentences
    .replace(PLACE, ' ')
    .replace(/\bunable to\b/g, 'unable')
    .split(/[.,;:!?()[\]{}<>"|]|\s-{1,3}\s/)
    .map(wordsOf)
    .filter((words) => !words.every((word) => PREFACE.has(word)))
  const all = clauses.flat()
  if (all.length > WORDS_MAX || !all.every(isKnown)) return undefined
  return clauses.find(saysMissing)?.join(' ')
}

function wordsOf(clause: string): readonly string[] {
  return clause
    .split(/[\s/*=#&~^\\]+/)
    .map((word) => word.replace(/^['_-]{1,3}|['_-]{1,3}$/g, ''))
    .filter((word) => /\p{L}/u.test(word))
}

/** Of the small vocabulary. */
export function isKnown(word: string): boolean {
  return [RECIPIENT, MISSING, NOT, PRESENT, MATCH, ANY, BETWEEN].some((known) => known.has(word))
}

function saysMissing(clause: readonly string[]): boolean {
  const has = (known: ReadonlySet<string>) => clause.some((word) => known.has(word))
  if (!has(RECIPIENT)) return false
  if (NAMES_NOBODY.test(clause.join(' '))) return false
  if (has(MATCH) && !has(ANY)) return false
  return has(MISSING) || (has(NOT) && (has(PRESENT) || has(MATCH) || clause.some(isOfNone)))
}

/** `no mailbox` */
function isOfNone(word: string, i: number, clause: readonly string[]): boolean {
  if (!NOT.has(word)) return false
  const whom = clause.slice(i + 1).find((one) => !OF_RECIPIENT.has(one))
  return whom !== undefined && RECIPIENT.has(whom)
}
