/**
 * What stands beside words about a recipient, and may make them words about something else: `unknown user group`,
 * `hosting account disabled`, `chown: invalid user`. Nobody can list what that may be. So every word of the clause
 * has to be known to leave the meaning as it is. Read in reply-text.ts's form.
 */
import { isKnown, setOf } from './absence-sentence.ts'

/** May stand beside words about the recipient and leave their meaning as it is. */
const BESIDE = setOf(
  `aaaa accounts active addresses admin administrator all also am amazon answered as at because book both bouncing
  catch-all child closed code codes company contact create cuda database dd deleted deliver delivered delivery demo
  details directory disabled discontinued dns domain domino done due each either employed encapsulated error
  errors every example fail failed failure following for from generic good groups having he her him his history
  host hosted impossible ims inactivated inactive inactivity inside into its ld ldap least left list live lives
  lookup mailboxes may mentioned module msexch mta must mx ne none nothing nsu office old only onto organisation
  organization path people permanent permanently pm possible post procmail psmtp public rc reached reactivated
  reason reasons receive recent recipients record rejected rejecting remote removed reports requested responded
  response return returned rpt-vfy said says see sent server servers service ses set shall she since site
  siteground sl spool srv staff status syntactically system systems table tables technical tell tells tenant
  that's there's those to told type undeliverable under unread up us users var vdeliver what whom will without
  work working works would write writing written wrote you've`,
)
/** Names, hosts and codes say nothing. */
const IDENTIFIER =
  /\b(?:called|named) [a-z]{1,48}(?=$|[.,;])|"[^"\s]{1,48}"|\S{0,48}[\d_@]\S{0,48}|\S{1,48}\.[a-z]\S{0,48}/g
/** What a clause ends at. A colon does not end it: `chown: invalid user`. */
const CLAUSE_END = /[.;!?](?=\s|$)|[()[\]{}]|\s(?:-{1,3}|\/)\s/
/** A place right beside them makes them words about it: `server address not found`, `no local user table`. */
const OF_PLACE =
  '(?:servers?|hosts?|systems?|services?|databases?|tables?|director(?:y|ies)|tenant|domain|organi[sz]ation|company|site|remote|dns|ldap|smtp)'
const IS_OF_OTHER = [
  new RegExp(String.raw`\b${OF_PLACE} {1,3}\u0001`),
  new RegExp(String.raw`\u0001 {1,3}(?:${OF_PLACE}|records?|book)\b`),
]

/** @param marked the sentences, with `mark` for the words about the recipient */
export function isPlainBeside(marked: string, mark: string): boolean {
  if (IS_OF_OTHER.some((one) => one.test(marked))) return false
  return marked
    .split(CLAUSE_END)
    .filter((clause) => clause.includes(mark))
    .flatMap((clause) => clause.replace(IDENTIFIER, ' ').match(/\p{L}[\p{L}'-]+/gu) ?? [])
    .every((word) => isKnown(word) || BESIDE.has(word))
}
