
current = current + math.min(cost, 9007199254740991 - current)
save()
return {}
