/** Answers of the name servers as values: the front door (see dns-resolver.ts). */
export {
  createDnsResolver,
  type DnsAnswer,
  type DnsResolver,
  type DnsTrouble,
  type MailExchange,
} from './dns-resolver.ts'
export { rememberAnswers } from './remember-answers.ts'
