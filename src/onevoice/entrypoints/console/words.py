"""What the codes of states and reasons are called on the screen, in Portuguese and English.

A code without words is shown as it is: an agent or a policy may bring its own reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from onevoice.entrypoints.http.webchat.texts import Language

__all__ = ["FILES", "OUTBOUND", "REASONS", "TURNS", "Words", "word_of"]

Words = Mapping[str, tuple[str, str]]

REASONS: Words = MappingProxyType({
    "accepted_without_id": ("o canal aceitou sem dizer um id", "the channel accepted it without an id"),
    "agent_raised": ("o agente falhou", "the agent failed"),
    "agent_timeout": ("o agente não respondeu a tempo", "the agent did not answer in time"),
    "already_begun": ("parte dela já tinha saído", "a part of it had already left"),
    "amended": ("a mensagem foi editada", "the message was edited"),
    "answered": ("respondida", "answered"),
    "approval_timeout": ("ninguém aprovou a ação a tempo", "nobody approved the action in time"),
    "asked": ("pedida para ajudar você", "asked for to help you"),
    "authority_changed": ("a conversa mudou de mãos", "the conversation changed hands"),
    "authority_revoked": ("a conversa mudou de mãos antes do envio", "the conversation changed hands before it left"),
    "cancelled": ("o cliente escreveu de novo e a desfez", "the customer wrote again and took it back"),
    "channel_ambiguous": ("o canal não disse se entregou", "the channel did not say whether it delivered"),
    "channel_failed": ("o canal não conseguiu entregar", "the channel could not deliver it"),
    "channel_paused": ("o canal está pausado", "the channel is paused"),
    "channel_refused": ("o canal recusou", "the channel refused it"),
    "channel_removed": ("o canal não está mais configurado", "the channel is not configured any more"),
    "channel_slow": ("o canal pediu para esperar", "the channel asked to wait"),
    "channel_drop": ("o canal recusou de vez", "the channel refused it for good"),
    "channel_fix": ("o canal não aceita esta mensagem", "the channel does not take this message"),
    "contacts_merged": ("dois contatos eram um só", "two contacts turned out to be one"),
    "customer_request": ("o cliente pediu", "the customer asked"),
    "deadline_passed": ("passou do prazo", "its time was over"),
    "decider_failed": ("a triagem não decidiu", "triage could not decide"),
    "delivery_failed": ("uma mensagem não foi entregue", "a message was not delivered"),
    "device_reply": ("respondido pelo celular da empresa", "answered from the business's phone"),
    "discarded_by_operator": ("descartada por alguém da equipe", "discarded by a colleague"),
    "drain": ("o servidor parou", "the server stopped"),
    "effect_outcome_unknown": (
        "não se sabe se uma ação aconteceu",
        "nobody knows whether an action happened",
    ),
    "hold": ("espera o tempo combinado", "waits its set time"),
    "idle": ("sem atividade", "no activity"),
    "answer_unsendable": ("a IA respondeu o que o canal não envia", "the AI answered what the channel cannot send"),
    "integration_failure": ("o agente ou um sistema falhou", "the agent or a system failed"),
    "lease_lost": ("o trabalho se perdeu com o servidor", "the work was lost with its server"),
    "loop_suspected": ("parece outro robô", "it looks like another bot"),
    "low_confidence": ("a IA não tinha certeza", "the AI was not sure"),
    "manual": ("a pedido da equipe", "asked by the team"),
    "max_wait": ("o cliente já esperou o máximo", "the customer has waited long enough"),
    "media_refused": ("o canal recusou o arquivo", "the channel refused the file"),
    "merged": ("dois contatos eram um só", "two contacts turned out to be one"),
    "needs_template": ("a janela de resposta fechou", "the reply window is closed"),
    "newer_message": ("o cliente escreveu de novo", "the customer wrote again"),
    "no_reply": ("nada a responder", "nothing to answer"),
    "nothing_to_answer": ("nada a responder", "nothing to answer"),
    "operator": ("respondida pela equipe", "answered by the team"),
    "outcome_unknown": ("não se sabe se chegou", "nobody knows whether it arrived"),
    "pair_rate": ("limite de mensagens do canal", "the channel's rate limit"),
    "policy": ("uma regra pediu", "a policy asked for it"),
    "promised_handoff": ("a IA prometeu uma pessoa", "the AI promised a person"),
    "refused_by_operator": ("recusada por alguém da equipe", "refused by a colleague"),
    "release": ("devolvida à IA", "given back to the AI"),
    "released": ("devolvida à IA", "given back to the AI"),
    "resumed": ("retomada", "resumed"),
    "retries_exhausted": ("todas as tentativas falharam", "every try failed"),
    "sender_lost": ("o servidor caiu durante o envio", "the server died while sending"),
    "superseded": ("juntada à resposta seguinte", "merged into the next answer"),
    "upload": ("o arquivo vai antes ao canal", "its file goes to the channel first"),
    "upload_failed": ("o arquivo ainda não chegou ao canal", "its file has not reached the channel yet"),
    "takeover_pending": ("sai quando a sua tomada for confirmada", "leaves once your takeover is confirmed"),
    "tells_of_a_write": ("conta algo que aconteceu", "it tells of something that happened"),
    "tool_failed": ("a ferramenta falhou", "the tool failed"),
    "transferred": ("transferida", "transferred"),
    "triage": ("o cliente escreveu de novo; a triagem decide", "the customer wrote again; triage decides"),
    "triage_undecided": ("a triagem não decidiu a tempo", "triage did not decide in time"),
    "turn_over": ("o turno já tinha terminado", "the turn was over"),
    "while_held_redo": ("regra: responder tudo junto", "set rule: answer all together"),
    "while_held_release": ("regra: enviar primeiro", "set rule: send first"),
    "withdrawn": ("o cliente apagou a mensagem", "the customer withdrew the message"),
    "write_not_approved": ("uma ação não foi aprovada", "an action was not approved"),
})  # fmt: skip

# Why a file is not there, or its words are not.
FILES: Words = MappingProxyType({
    "adapter_raised": ("o canal falhou", "the channel failed"),
    "address_refused": ("o endereço do arquivo venceu", "the file's address is over"),
    "answer_unreadable": ("resposta ilegível", "the answer could not be read"),
    "bad_audio": ("o áudio não pôde ser lido", "the audio could not be read"),
    "channel_removed": ("o canal não está mais configurado", "the channel is not configured any more"),
    "channel_unavailable": ("o canal está fora do ar", "the channel is down"),
    "channel_unreachable": ("o canal não responde", "the channel does not answer"),
    "compressed": ("o arquivo veio num formato recusado", "the file came in a form that is refused"),
    "credentials_refused": ("a chave do serviço foi recusada", "the service's key was refused"),
    "cut_off": ("o arquivo chegou pela metade", "only a part of the file came"),
    "digest_differs": ("o arquivo chegou alterado", "the file is not what was announced"),
    "empty": ("o arquivo está vazio", "the file is empty"),
    "gone": ("o canal não tem mais o arquivo", "the channel does not have it any more"),
    "host_refused": ("o endereço do arquivo não é do canal", "the file's address is not the channel's"),
    "insufficient_quota": ("a conta do serviço está sem saldo", "the service's account has run dry"),
    "missing": ("o arquivo não está mais guardado", "the file is not in the store any more"),
    "model_unknown": ("o modelo não existe", "there is no such model"),
    "no_file": ("o arquivo não chegou", "the file did not come"),
    "no_such_file": ("o canal não conhece o arquivo", "the channel does not know the file"),
    "no_transcriber": ("ninguém transcreve", "nobody transcribes"),
    "no_transcript": ("o serviço não devolveu texto", "the service returned no text"),
    "page_instead_of_file": ("veio uma página no lugar do arquivo", "a page came instead of the file"),
    "provider_unavailable": ("o serviço está fora do ar", "the service is down"),
    "provider_unreachable": ("o serviço não responde", "the service does not answer"),
    "rate_limited": ("pedidos demais", "too many requests"),
    "redirect_refused": ("o endereço do arquivo leva a outro lugar", "the file's address leads elsewhere"),
    "refused": ("o serviço recusou", "the service refused it"),
    "store_unavailable": ("o armazenamento não responde", "the store does not answer"),
    "timeout": ("demorou demais", "it took too long"),
    "token_refused": ("a chave do canal foi recusada", "the channel's token was refused"),
    "too_large": ("é grande demais", "it is too large"),
    "transcriber_raised": ("o serviço falhou", "the service failed"),
    "tries_exhausted": ("todas as tentativas falharam", "every try failed"),
    "type_differs": ("não é o tipo de arquivo anunciado", "it is not the kind of file that was announced"),
    "wrong_size": ("o arquivo chegou pela metade", "only a part of the file came"),
})  # fmt: skip

# Whatever became of a message to the customer; `held` is what is due but must still wait.
OUTBOUND: Words = MappingProxyType({
    "held": ("Na espera", "Held"),
    "due": ("Na fila", "Queued"),
    "sending": ("Enviando", "Sending"),
    "sent": ("Enviada", "Sent"),
    "delivered": ("Entregue", "Delivered"),
    "read": ("Lida", "Read"),
    "played": ("Ouvida", "Played"),
    "failed": ("Falhou", "Failed"),
    "parked": ("Parada", "Parked"),
    "uncertain": ("Resultado desconhecido", "Outcome unknown"),
    "cancelled": ("Cancelada", "Cancelled"),
    "superseded": ("Substituída", "Superseded"),
    "revoked": ("Retirada antes do envio", "Revoked before it left"),
})  # fmt: skip

TURNS: Words = MappingProxyType({
    "running": ("A IA está respondendo", "The AI is working on an answer"),
    "discarded": ("Resposta da IA descartada", "The AI's answer was discarded"),
    "obsolete": ("Trabalho da IA interrompido", "The AI's work was stopped"),
    "handoff": ("A IA pediu uma pessoa", "The AI asked for a person"),
    "silent": ("A IA preferiu não responder", "The AI chose not to answer"),
    "parked": ("Resposta da IA parada", "The AI's answer was parked"),
    "abandoned": ("O trabalho da IA se perdeu", "The AI's work was lost"),
    "failed": ("A IA falhou", "The AI failed"),
})  # fmt: skip


def word_of(words: Words, code: str | None, language: Language) -> str:
    """The words for a code; for an unknown one the code itself, readable."""
    if code is None:
        return ""
    known = words.get(code)
    if known is None:
        return code.replace("_", " ")
    return known[0] if language == "pt" else known[1]
